/**
 * Guards, in the order of their calls by the engine. The name is the same in metrics, ledger and pages, and is that
 * of the file. Two rules need no guard: the plan freezes its ids, and settings that amplify are rejected on load.
 */
import { approval } from './approval.ts';
import { arrivals } from './arrivals.ts';
import { attempts } from './attempts.ts';
import { outcomeMismatch } from './outcome-mismatch.ts';
import { caps } from './caps.ts';
import { claim } from './claim.ts';
import { clock } from './clock.ts';
import { incompleteRead } from './incomplete-read.ts';
import { confirmation } from './confirmation.ts';
import { destination } from './destination.ts';
import { coolDown } from './cool-down.ts';
import { filterMismatch } from './filter-mismatch.ts';
import { failureFunction } from './failure-function.ts';
import { otherInstance } from './other-instance.ts';
import { grace } from './grace.ts';
import type { Guard } from './guard.ts';
import { killSwitch } from './kill-switch.ts';
import { knownBudget } from './known-budget.ts';
import { lease } from './lease.ts';
import { minInterval } from './min-interval.ts';
import { mode } from './mode.ts';
import { exceededRequest } from './exceeded-request.ts';
import { precondition } from './precondition.ts';
import { probation } from './probation.ts';
import { protectedLabel } from './protected.ts';
import { quota } from './quota.ts';
import { raiseLimits } from './raise-limits.ts';
import { ramp } from './ramp.ts';
import { implausibleData } from './implausible-data.ts';
import { surge } from './surge.ts';
import { tripwire } from './tripwire.ts';
import { where } from './where.ts';
import { window } from './window.ts';

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
  { name: 'other_instance', stage: 'entry', check: otherInstance },
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
