/** Generates the tables of the alerts' pages from the rules: name, severity, file, duration, and summary. */
import { labelNamesOf, METRIC_NAMES } from '#observe/catalog/catalog.ts';
import type { AlertGroup, RecordingGroup } from './rule.ts';

export const DOCUMENT = 'docs/alerts.md';

/** Explains the objectives, and has the response times. */
export const OBJECTIVES_DOCUMENT = 'docs/alert-objectives.md';

/** Matches the generated text between two marker comments. */
export const marked = (name: string): RegExp => new RegExp(`(?<=<!-- ${name} -->\\n).*?(?=<!-- end -->)`, 's');

export interface Rules {
  readonly recording: readonly RecordingGroup[];
  readonly alerts: readonly AlertGroup[];
}

/** Returns the document with tables of the current rules. */
export function withTables(document: string, { recording, alerts }: Rules): string {
  const alertTables = alerts.map(alertTable).join('\n');
  const names = recording.flatMap(({ rules }) => rules.map(({ record }) => record));
  const records = table(
    ['name', 'labels'],
    [...grouped(names)].map(([name, level]) => [`\`${name}\``, level]),
  );
  return document
    .replace(marked('alerts'), () => `\n${alertTables}\n`)
    .replace(marked('recorded'), () => `\n${records}\n`);
}

function alertTable({ name, rules }: AlertGroup): string {
  const rows = rules.map(({ alert, severity, for: wait = '–', extended, summary }) => [
    `[${alert}](runbooks/${alert}.md)`,
    severity,
    extended === true ? 'extended' : 'core',
    wait,
    withoutTemplates(summary),
  ]);
  return `### Group ${name}\n\n${table(['alert', 'severity', 'file', 'for', 'summary'], rows)}`;
}

/** Combines names that differ only in their window into one row, with `WINDOW`. */
function grouped(names: readonly string[]): Map<string, string> {
  const level = (name: string): string => labelsIn(name.slice(0, name.indexOf(':'))).join(', ');
  return new Map(names.map((name) => [name.replace(/(?<=:(?:ratio_rate|increase))\d+[mhd]$/, 'WINDOW'), level(name)]));
}

/** Labels of metrics, of scrapes, and of the rules themselves. */
const LABELS = new Set(['job', 'instance', 'le', 'quota', ...METRIC_NAMES.flatMap(labelNamesOf)]);

/** Returns the labels of a level such as `job_flow_control_key`: a label can have underscores itself. */
function labelsIn(level: string): readonly string[] {
  const [label] = [...LABELS]
    .filter((one) => `${level}_`.startsWith(`${one}_`))
    .toSorted((a, b) => b.length - a.length);
  if (label === undefined) throw new Error(`${level} begins with no label of a metric`);
  return [label, ...(label === level ? [] : labelsIn(level.slice(label.length + 1)))];
}

/** Returns the text with DESTINATION for `{{ $labels.destination }}` and N for a value or a query, without optional parts. */
function withoutTemplates(text: string): string {
  return text
    .replaceAll(/\{\{ with printf .*?\{\{ end \}\}/g, 'N')
    .replaceAll(/\{\{ with .*?\{\{ end \}\}/g, '')
    .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_template, label: string) => label.toUpperCase())
    .replaceAll(/\{\{ or \$labels\.(\w+) .*?\}\}/g, (_template, label: string) => label.toUpperCase())
    .replaceAll(/\{\{ \$value .*?\}\}/g, 'N');
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  return line(head) + `|${head.map(() => '---|').join('')}\n` + rows.map(line).join('');
}
