/** The catalogue for people: Markdown for the documentation, a plain table for a terminal. */
import { METRIC_NAMES, labelNamesOf, specOf, type MetricName } from './catalog.ts';

const COLUMNS = ['metric', 'type', 'labels', 'unit', 'source', 'help'] as const;

const TITLE = `# Metrics

Printed by \`opsd metrics --markdown\`. \`msgsvc_*\` is what the service says, \`opsd_*\` is what the daemon does. Gauges of a
source that was not read for three of its intervals are withheld; counters stay.
`;

/** One table for each family, in the catalogue's order. */
export function catalogMarkdown(): string {
  const sections = [...byHeading()].map(([heading, names]) => {
    const rows = names.map((name) => `| ${cells(name).map(escapeCell).join(' | ')} |`);
    return [
      `## ${heading}`,
      '',
      `| ${COLUMNS.join(' | ')} |`,
      `|${COLUMNS.map(() => '---|').join('')}`,
      ...rows,
      '',
    ].join('\n');
  });
  return [TITLE, ...sections].join('\n');
}

/** Name, type, labels and help in aligned columns, a heading above each family. */
export function catalogTable(): string {
  const shown = (name: MetricName): readonly string[] => {
    const { type, help } = specOf(name);
    return [name, type, labelNamesOf(name).join(','), help];
  };
  const widths = [0, 1, 2].map((column) => Math.max(...METRIC_NAMES.map((name) => shown(name)[column]!.length)));
  const lines: string[] = [];
  for (const [heading, names] of byHeading()) {
    lines.push(...(lines.length === 0 ? [] : ['']), heading);
    for (const name of names) {
      lines.push(
        shown(name)
          .map((text, column) => text.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd(),
      );
    }
  }
  return `${lines.join('\n')}\n`;
}

function byHeading(): Map<string, MetricName[]> {
  return Map.groupBy(METRIC_NAMES, (name) => specOf(name).heading);
}

function cells(name: MetricName): readonly string[] {
  const { type, unit, source, help } = specOf(name);
  return [`\`${name}\``, type, labelNamesOf(name).join(', ') || '-', unit, source, help];
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
