/** The guards, in the order in which they are asked. A name here is the word in metrics, ledger and pages. */
import { approval } from './approval.ts';
import { attempts } from './attempts.ts';
import { caps } from './caps.ts';
import { claim } from './claim.ts';
import { completeRead } from './complete-read.ts';
import { echoCheck } from './echo-check.ts';
import { failureFunction } from './failure-function.ts';
import { foreignActor } from './foreign-actor.ts';
import type { Guard } from './guard.ts';
import { killSwitch } from './kill-switch.ts';
import { mode } from './mode.ts';
import { moreThanAsked } from './more-than-asked.ts';
import { protectedLabel } from './protected.ts';
import { sanity } from './sanity.ts';
import { where } from './where.ts';

export const GUARDS: readonly Guard[] = [
  { name: 'kill_switch', stage: 'run', check: killSwitch },
  { name: 'complete_read', stage: 'read', check: completeRead },
  { name: 'echo_check', stage: 'read', check: echoCheck },
  { name: 'sanity', stage: 'read', check: sanity },
  { name: 'where', stage: 'evaluated', check: where },
  { name: 'protected', stage: 'entry', check: protectedLabel },
  { name: 'failure_function', stage: 'entry', check: failureFunction },
  { name: 'foreign_actor', stage: 'entry', check: foreignActor },
  { name: 'attempts', stage: 'entry', check: attempts },
  { name: 'claim', stage: 'entry', check: claim },
  { name: 'caps', stage: 'plan', check: caps },
  { name: 'mode', stage: 'act', check: mode },
  { name: 'approval', stage: 'act', check: approval },
  { name: 'more_than_asked', stage: 'answer', check: moreThanAsked },
];
