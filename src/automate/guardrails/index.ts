/**
 * Guards, in the order of their calls by the engine. The name is the same in metrics, ledger and pages. Two rules need
 * no guard: the plan freezes its ids, and settings that amplify are rejected on load.
 */
import { approval, outcomeMismatch, caps, mode, exceededRequest, probation } from './send-guards.ts';
import { arrivals, destination, quota, ramp, tripwire } from './group-guards.ts';
import {
  attempts,
  body,
  claim,
  deploy,
  failureFunction,
  otherInstance,
  grace,
  protectedLabel,
} from './entry-guards.ts';
import { clock, coolDown, killSwitch, lease, minInterval, precondition, window } from './run-guards.ts';
import { incompleteRead, filterMismatch, implausibleData, where } from './read-guards.ts';
import { confirmation, raiseLimits, knownBudget, surge } from './budget-guards.ts';
import type { Guard } from './guard.ts';

export const GUARDS: readonly Guard[] = [
  { name: 'kill_switch', stage: 'run', check: killSwitch },
  { name: 'lease', stage: 'run', check: lease },
  { name: 'clock', stage: 'run', check: clock },
  { name: 'window', stage: 'run', check: window },
  { name: 'precondition', stage: 'run', check: precondition },
  { name: 'min_interval', stage: 'run', check: minInterval },
  { name: 'cool_down', stage: 'run', check: coolDown },
  { name: 'incomplete_read', stage: 'read', check: incompleteRead },
  { name: 'filter_mismatch', stage: 'read', check: filterMismatch },
  { name: 'implausible_data', stage: 'read', check: implausibleData },
  { name: 'where', stage: 'evaluated', check: where },
  { name: 'protected', stage: 'entry', check: protectedLabel },
  { name: 'failure_function', stage: 'entry', check: failureFunction },
  { name: 'body', stage: 'entry', check: body },
  { name: 'other_instance', stage: 'entry', check: otherInstance },
  { name: 'deploy', stage: 'entry', check: deploy },
  { name: 'attempts', stage: 'entry', check: attempts },
  { name: 'claim', stage: 'entry', check: claim },
  { name: 'grace', stage: 'entry', check: grace },
  { name: 'quota', stage: 'account', check: quota },
  { name: 'tripwire', stage: 'matched', check: tripwire },
  { name: 'destination', stage: 'group', check: destination },
  { name: 'arrivals', stage: 'group', check: arrivals },
  { name: 'ramp', stage: 'group', check: ramp },
  { name: 'known_budget', stage: 'budget', check: knownBudget },
  { name: 'confirmation', stage: 'budget', check: confirmation },
  { name: 'raise_limits', stage: 'budget', check: raiseLimits },
  { name: 'surge', stage: 'budget', check: surge },
  { name: 'caps', stage: 'plan', check: caps },
  { name: 'mode', stage: 'act', check: mode },
  { name: 'probation', stage: 'act', check: probation },
  { name: 'approval', stage: 'act', check: approval },
  { name: 'exceeded_request', stage: 'answer', check: exceededRequest },
  { name: 'outcome_mismatch', stage: 'outcome', check: outcomeMismatch },
];
