/** `opsd dlq resume`, `republish`, `delete` and `prune`: each makes a manual plan. */
import { bytesOf, CommandError, textOption, UsageError, type Call, type Command } from '../command.ts';
import { findDaemon } from '../daemon-option.ts';
import { request } from '../daemon-request.ts';
import {
  DELETE_OPTIONS,
  deleteActionOf,
  PRUNE_OPTIONS,
  REPUBLISH_OPTIONS,
  RESUME_OPTIONS,
  selectionOf,
} from './manual-options.ts';
import { runManualPlan } from './manual-run.ts';

export const dlqResumeCommand: Command = {
  name: 'dlq resume',
  summary: 'Resume failed workflow runs, by ids or filters.',
  operands: { usage: '[ID…]', min: 0, max: Infinity },
  options: RESUME_OPTIONS,
  details:
    'Makes a manual plan, shows it, asks, and applies its first step. The daemon sends the next steps when the earlier ' +
    'ones are verified, under all guards and caps. At least one dlqId or one filter is required; a time is no filter.\n' +
    'Exit code: 0 if it acted, 3 if a guard held it, 4 if a guard aborted it, 1 on an error. With --wait: 0 if every ' +
    'run is verified, 3 if one failed again, is unknown or is left, 4 if the plan was cancelled.',
  examples: [
    "opsd dlq resume --label billing --since 2h --reason 'the outage is over'",
    "opsd dlq resume --incident 3f2a91bc0d --reason 'the outage is over' --wait",
  ],
  async run(call) {
    const incident = textOption(call.values, 'incident');
    if (incident === undefined) return runManualPlan(call, selectionOf(call, 'resume'));
    refuseOthers(call);
    const daemon = await findDaemon(call);
    const { selection } = (await request(daemon, 'GET /api/v1/incidents/{id}', { id: incident }, 'incident')).incident;
    if (selection === undefined) throw new CommandError(`incident ${incident} has no failed run that could be resumed`);
    return runManualPlan(call, selection);
  },
};

function headersOf(given: unknown): Readonly<Record<string, string>> {
  const texts = given === undefined ? [] : [given].flat().map(String);
  return Object.fromEntries(
    texts.map((text) => {
      const [, name, value] = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+)=(.*)$/.exec(text) ?? [];
      if (name === undefined) throw new UsageError('--header must be NAME=VALUE, such as X-Version=2');
      return [name, value!];
    }),
  );
}

/** Rejects ids and filters in addition to an incident: they would look like a narrower selection. */
function refuseOthers(call: Call): void {
  const { action: _action, ...others } = selectionOf(call, 'resume');
  const [first] = Object.keys(others);
  if (first !== undefined) throw new UsageError(`--incident selects its own runs; remove ${first}`);
}

export const dlqRepublishCommand: Command = {
  name: 'dlq republish',
  summary: 'Publish failed messages again, from their kept bodies.',
  operands: { usage: '[ID…]', min: 0, max: Infinity },
  options: REPUBLISH_OPTIONS,
  details:
    'Makes a manual plan, shows it, asks, and applies its first step. Each message is published once, to the URL where it ' +
    'failed; its entry is deleted after the log shows the delivery. Needs deadLetters.bodies of the account. At least one ' +
    'id or one filter is required; a time is no filter.\nExit codes: those of opsd dlq resume.',
  examples: [
    "opsd dlq republish dlq-8812 --reason 'the destination is repaired'",
    "opsd dlq republish --topic-name hooks --since 2h --reason 'v42 fixes it'",
    "opsd dlq republish dlq-8812 --body fixed.json --reason 'a field was missing'",
  ],
  async run(call) {
    const { header } = call.values;
    const file = textOption(call.values, 'body');
    const selection = selectionOf(call, 'republish');
    if (file === undefined && header === undefined) return runManualPlan(call, selection);
    if (selection.ids?.length !== 1) throw new UsageError('--body and --header change one message: name one id');
    const body = file === undefined ? undefined : (await bytesOf(call, file)).toString('base64');
    const edit = { ...(body !== undefined && { body }), headers: headersOf(header) };
    return runManualPlan({ ...call, edit }, selection);
  },
};

export const dlqDeleteCommand: Command = {
  name: 'dlq delete',
  summary: 'Delete failed runs or messages, by ids or filters.',
  operands: { usage: '[ID…]', min: 0, max: Infinity },
  options: DELETE_OPTIONS,
  details:
    'Makes a manual plan, shows it, asks, and applies it. Workflow runs are archived first. Messages are those of failure ' +
    'callbacks; for others use opsd dlq prune. A filter that only one DLQ has decides which one is meant; for ids the daemon ' +
    'finds out; else --queue is required. At least one id or one filter is required; a time is no filter.\nExit codes: those of opsd dlq resume.',
  examples: [
    "opsd dlq delete dlq-8812 --reason 'test run'",
    "opsd dlq delete --workflow-url https://example.com/old --reason 'it is gone'",
  ],
  run(call) {
    const action = deleteActionOf(call);
    if (action !== undefined) return runManualPlan(call, selectionOf(call, action));
    return runManualPlan(call, selectionOf(call, 'delete'), selectionOf(call, 'delete-messages'));
  },
};

export const dlqPruneCommand: Command = {
  name: 'dlq prune',
  summary: 'Delete old messages of the DLQ by filters, without a list.',
  options: PRUNE_OPTIONS,
  details:
    'The service cannot list these messages, so the plan shows only the filters and the largest number. At most ' +
    'limits.maxPerRun messages are deleted; the first request deletes one. --to-date and a filter are required.\n' +
    'Exit codes: those of opsd dlq resume.',
  examples: [
    "opsd dlq prune --label newsletter --to-date 14d --reason 'too old to send'",
    'opsd dlq prune --label ads --to-date 14d --set limits.maxPerRun=9 --reason old',
  ],
  run: (call) => runManualPlan(call, selectionOf(call, 'prune')),
};
