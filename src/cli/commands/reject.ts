import type { Command } from '../command.ts';
import { decide, DECIDE_OPTIONS } from './decide.ts';

export const rejectCommand: Command = {
  name: 'reject',
  summary: 'Reject a plan, or take its approval back.',
  operands: { usage: 'PLAN', min: 1, max: 1, names: 'plan' },
  options: DECIDE_OPTIONS,
  details:
    'After the request in flight, nothing more is sent for an approved plan.\n' +
    'The policy continues and makes another plan later. To stop it: opsd pause --policy POLICY.',
  examples: ['opsd reject 9f3c2a', "opsd reject 9f3c2a --yes --reason 'the runs are obsolete'"],
  run: (call) => decide(call, 'reject'),
};
