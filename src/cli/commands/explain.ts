import type { Subject } from '#automate/ledger/commands.ts';
import type { postExplain } from '#operate/contract/policies.ts';
import type { AnswerOf } from '#operate/contract/route.ts';
import { daemonCommand } from '../daemon-command.ts';
import { request } from '../daemon-request.ts';
import { painter, printable, textTable, usesColor, type Style } from '../output.ts';

export const explainCommand = daemonCommand({
  name: 'explain',
  summary: 'Explain what policies would do with a run or message, and why.',
  operands: { usage: 'ID', min: 1, max: 1 },
  details:
    'ID is a dlqId, or the id of a run or a message. The daemon reads the service and evaluates each policy of the account. ' +
    'It changes nothing.\nExit code: 1 if the id is unknown.',
  examples: ['opsd explain dlq-8812', 'opsd explain wfr_4711 -o json'],
  async answer(call, findDaemon) {
    const daemon = await findDaemon();
    const body = { id: call.positionals[0]! };
    const data = await request(daemon, 'POST /api/v1/explain', { body }, 'policies', 'actions');
    return { data, text: explainText(data, usesColor(call.io.stdout, call.io.env)) };
  },
});

type ExplainedEntry = AnswerOf<typeof postExplain>;
type Verdict = ExplainedEntry['policies'][number]['verdict'];

const VERDICTS: Readonly<Record<Verdict, { readonly text: string; readonly style?: Style }>> = {
  chosen: { text: 'would act on it now', style: 'green' },
  later: { text: 'would act on it in a later run', style: 'green' },
  left_out: { text: 'denies it', style: 'yellow' },
  not_listed: { text: 'does not find it in a DLQ' },
  stopped: { text: 'does not act now', style: 'yellow' },
};

function explainText({ id, subject, policies, actions }: ExplainedEntry, color: boolean): string {
  const paint = painter(color);
  const width = Math.max(0, ...policies.map(({ policy }) => printable(policy).length));
  const lines = [paint('bold', printable(id)), ...(subject === undefined ? [] : [subjectText(subject)])];
  if (policies.length === 0) lines.push('No policy of its account acts on such entries.');
  for (const { policy, source, verdict, denial } of policies) {
    const { text, style } = VERDICTS[verdict] ?? { text: verdict };
    const why = denial === undefined ? '' : `: ${printable(denial.guard)}, ${printable(denial.reason)}`;
    const said = style === undefined ? text : paint(style, text);
    lines.push(`  ${printable(policy).padEnd(width)}  ${said}${why}  ${paint('dim', `(${printable(source)})`)}`);
  }
  if (actions.length === 0) return [...lines, 'No action on it so far.'].map((line) => `${line}\n`).join('');
  const rows = actions.map((row) => [
    new Date(row.at).toISOString().slice(0, 19).replace('T', ' ') + 'Z',
    row.policy,
    row.action,
    row.target,
    row.outcome.replaceAll('_', ' '),
    [row.newRunId === undefined ? '' : `new run ${row.newRunId}`, row.detail ?? ''].filter(Boolean).join('; '),
  ]);
  return `${lines.join('\n')}\n\n${textTable(['TIME', 'POLICY', 'ACTION', 'TARGET', 'OUTCOME', 'DETAIL'], rows)}`;
}

const PLACES: Readonly<Record<Subject['in'], string>> = {
  'workflow-dlq': 'in the workflow DLQ',
  'message-dlq': 'in the message DLQ, by a failure callback',
  log: 'in the message log; in no DLQ that can be listed',
};

function subjectText({ account, in: place, dlqId, workflowRunId, messageId }: Subject): string {
  const ids = Object.entries({ entry: dlqId, run: workflowRunId, message: messageId })
    .filter(([, one]) => one !== undefined)
    .map(([what, one]) => `${what} ${printable(one!)}`);
  return `${ids.join(', ')} of account ${printable(account)}, ${PLACES[place] ?? place}`;
}
