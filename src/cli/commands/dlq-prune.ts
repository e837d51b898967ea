import type { Command } from '../command.ts';
import { PRUNE_OPTIONS, selectionOf } from './manual-options.ts';
import { runManualPlan } from './manual-run.ts';

export const dlqPruneCommand: Command = {
  name: 'dlq prune',
  summary: 'Delete old messages of the DLQ by filters, without a list.',
  options: PRUNE_OPTIONS,
  details:
    'The service cannot list these messages, so the plan shows only the filters and the largest number. At most\n' +
    'limits.maxPerRun messages are deleted; the first request deletes one. --to-date and a filter are required.\n' +
    'Exit codes: those of opsd dlq resume.',
  examples: [
    "opsd dlq prune --label newsletter --to-date 14d --reason 'too old to send'",
    'opsd dlq prune --destination https://old.example.com/a --to-date 2026-11-01 --set limits.maxPerRun=900 --reason gone',
  ],
  run: (call) => runManualPlan(call, selectionOf(call, 'prune')),
};
