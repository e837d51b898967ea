import { EXIT, type Command } from './command.ts';
import type { ExplainedEntry } from './daemon-client.ts';
import { DAEMON_OPTIONS, findDaemon } from './daemon-option.ts';
import {
  OUTPUT_OPTION,
  outputFormat,
  painter,
  printable,
  textTable,
  usesColor,
  writeData,
  type Style,
} from './output.ts';

export const explainCommand: Command = {
  name: 'explain',
  summary: 'Show why policies act on an entry or leave it, and what was done to it.',
  operands: { usage: 'ID', min: 1, max: 1 },
  options: { ...DAEMON_OPTIONS, output: OUTPUT_OPTION },
  details:
    'ID is the dlqId of an entry of the workflow DLQ, or the id of its run. Each policy over workflow runs is asked\n' +
    'again, which reads the service. Nothing is done.',
  async run(call) {
    const format = outputFormat(call.values);
    const daemon = await findDaemon(call);
    if (daemon === undefined) return EXIT.failed;
    const { requestExplain } = await import('./daemon-client.ts');
    const explained = await requestExplain(call.positionals[0]!, daemon);
    if (format === 'table') call.io.stdout.write(explainText(explained, usesColor(call.io.stdout, call.io.env)));
    else await writeData(call.io, format, explained);
    return EXIT.ok;
  },
};

type Verdict = ExplainedEntry['policies'][number]['verdict'];

const VERDICTS: Readonly<Record<Verdict, { readonly text: string; readonly style?: Style }>> = {
  chosen: { text: 'would act on it now', style: 'green' },
  later: { text: 'would act on it in a later run', style: 'green' },
  left_out: { text: 'leaves it out', style: 'yellow' },
  not_listed: { text: 'does not select it' },
  stopped: { text: 'is stopped as a whole', style: 'yellow' },
};

function explainText({ id, policies, actions }: ExplainedEntry, color: boolean): string {
  const paint = painter(color);
  const width = Math.max(0, ...policies.map(({ policy }) => printable(policy).length));
  const lines = [paint('bold', printable(id))];
  if (policies.length === 0) lines.push('No policy is over workflow runs.');
  for (const { policy, source, verdict, denial } of policies) {
    const { text, style } = VERDICTS[verdict] ?? { text: verdict };
    const why = denial === undefined ? '' : `: ${printable(denial.guard)}, ${printable(denial.reason)}`;
    const said = style === undefined ? text : paint(style, text);
    lines.push(`  ${printable(policy).padEnd(width)}  ${said}${why}  ${paint('dim', `(${printable(source)})`)}`);
  }
  if (actions.length === 0) return [...lines, 'Nothing was done to it.'].map((line) => `${line}\n`).join('');
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
