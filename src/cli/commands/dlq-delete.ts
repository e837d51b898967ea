import type { Command } from '../command.ts';
import { DELETE_OPTIONS, deleteActionOf, selectionOf } from './manual-options.ts';
import { runManualPlan } from './manual-run.ts';

export const dlqDeleteCommand: Command = {
  name: 'dlq delete',
  summary: 'Delete failed runs or messages, by ids or filters.',
  operands: { usage: '[ID…]', min: 0, max: Infinity },
  options: DELETE_OPTIONS,
  details:
    'Makes a manual plan, shows it, asks, and applies it. Workflow runs are archived first. Messages are those of failure\n' +
    'callbacks; for others use opsd dlq prune. A filter of only one DLQ decides which one is meant; for ids the daemon\n' +
    'finds out. At least one id or one filter is required; a time is no filter. Exit codes: those of opsd dlq resume.',
  examples: [
    "opsd dlq delete dlq-8812 --reason 'test run'",
    "opsd dlq delete --workflow-url https://app.example.com/old --reason 'workflow is gone' --set limits.maxPerRun=500",
  ],
  run(call) {
    const action = deleteActionOf(call);
    if (action !== undefined) return runManualPlan(call, selectionOf(call, action));
    return runManualPlan(call, selectionOf(call, 'delete'), selectionOf(call, 'delete-messages'));
  },
};
