import type { Command } from '../command.ts';
import { decide, DECIDE_OPTIONS } from './decide.ts';

export const approveCommand: Command = {
  name: 'approve',
  summary: 'Approve a plan.',
  operands: { usage: 'PLAN', min: 1, max: 1, names: 'plan' },
  options: DECIDE_OPTIONS,
  details:
    'The runs of the policy then apply it, the first of them at once: exactly the shown actions, under all guards. If a\n' +
    'guard holds it, they act when the hold ends. opsd reject takes the approval back.\n' +
    'The status page and GET /api/v1/plans list the pending plans. To stop it again: opsd pause --policy POLICY.',
  examples: ['opsd approve 9f3c2a', "opsd approve 9f3c2a --yes --reason 'read it with the team'"],
  run: (call) => decide(call, 'approve'),
};
