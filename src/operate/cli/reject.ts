import type { Command } from './command.ts';
import { decide, DECIDE_OPTIONS } from './decide.ts';

export const rejectCommand: Command = {
  name: 'reject',
  summary: 'Refuse what a plan showed.',
  operands: { usage: 'PLAN', min: 1, max: 1 },
  options: DECIDE_OPTIONS,
  details: 'The policy goes on: what it finds later makes another plan. To stop it: opsd pause --policy POLICY.',
  run: (call) => decide(call, 'reject'),
};
