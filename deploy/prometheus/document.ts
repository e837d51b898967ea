/** Parts of docs/alerts.md that follow from the rules. `npm run docs` writes them. */
import { ALERT_GROUPS, RECORDING_GROUPS } from './groups.ts';
import type { AlertingRule } from './rule.ts';
import { FAST_BURN, SLOW_BURN } from './thresholds.ts';

export const DOCUMENT = 'docs/alerts.md';

/** Matches the generated text between two marker comments. */
export const marked = (name: string): RegExp => new RegExp(`(?<=<!-- ${name} -->\\n).*?(?=<!-- end -->)`, 's');

export function alertLists(): string {
  return ALERT_GROUPS.map(({ name, rules }) => `### Group ${name}\n\n${rules.map(listed).join('')}`).join('\n');
}

function listed({ alert, severity, for: wait, extended, summary }: AlertingRule): string {
  const when = [severity, ...(extended === true ? ['extended'] : []), ...(wait === undefined ? [] : [wait])];
  return `- [${alert}](runbooks/${alert}.md) (${when.join(', ')}): ${withoutTemplates(summary)}\n`;
}

export function burnTable(): string {
  const rows = [
    ...FAST_BURN.map((rate) => ({ severity: 'critical', ...rate })),
    ...SLOW_BURN.map((rate) => ({ severity: 'warning', ...rate })),
  ];
  return table(
    ['severity', 'burn rate', 'over', 'and still over', 'known for', 'failures'],
    rows.map(({ severity, factor, long, short, known, least }) => [
      severity,
      String(factor),
      long,
      short,
      known,
      String(least),
    ]),
  );
}

/** Names that differ only in their window are one line, with `WINDOW`. */
export function recordedSeries(): string {
  const names = RECORDING_GROUPS.flatMap(({ rules }) => rules.map(({ record }) => record));
  const lines = new Set(names.map((name) => name.replace(/(?<=:(?:ratio_rate|increase))\d+[mhd]$/, 'WINDOW')));
  return `\`\`\`text\n${[...lines].join('\n')}\n\`\`\``;
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
