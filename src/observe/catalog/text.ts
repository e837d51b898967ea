/** Text forms of the catalog: Markdown for the documentation, and plain text for terminals and line-based programs. */
import { METRIC_NAMES, labelNamesOf, specOf, type MetricName } from './catalog.ts';

/** Columns of the plain text, the longest last. */
const COLUMNS = ['metric', 'type', 'unit', 'labels', 'source', 'help'] as const;

/**
 * Returns one list for each family, in the order of the catalog, with the first statement of each help text. Of metrics of
 * the process and for debugging, only the names.
 */
export function catalogMarkdown(): string {
  const isDebug = (name: MetricName): boolean => specOf(name).debug === true;
  const kindOf = (name: MetricName): string =>
    isDebug(name) ? '*debug*: ' : /^(?:opsd|msgsvc)_/.test(name) ? 'listed' : '';
  const sections = [...byHeading()].map(([heading, names]) => {
    const debugLast = names.toSorted((one, other) => Number(isDebug(one)) - Number(isDebug(other)));
    const lines = [...Map.groupBy(debugLast, kindOf)].map(([kind, same]) =>
      kind === 'listed' ? same.map(listed).join('') : `- ${kind}${same.map((name) => `\`${name}\``).join(', ')}\n`,
    );
    return `## ${heading}\n\n${lines.join('')}`;
  });
  return sections.join('\n');
}

/** What the name, the heading or the introduction of the list says. */
const GIVEN =
  /^Unix timestamp (?:of (?:the )?)?|, (?:else 0|always 1|summed from (?:settled points of the statistics|increases of the monthly total))(?=$|:)/g;

function listed(name: MetricName): string {
  const { type, help } = specOf(name);
  const labels = labelNamesOf(name);
  const named = labels.length === 0 ? name : `${name}{${labels.join(',')}}`;
  const first = help
    .split(/\. (?=[A-Z])|; /)[0]!
    .replace(/\.$/, '')
    .replaceAll(/ \([^)]*\)/g, '')
    .replace(/,? in (?:seconds|bytes|US dollars)(?=$|,)/, '')
    .replace(GIVEN, '')
    .replace(/^[a-z]/, (letter) => letter.toUpperCase());
  return `- \`${named}\`${type === 'histogram' ? ' (histogram)' : ''}: ${first}\n`;
}

/** Returns one line per metric with aligned columns and a heading above each family, for line-based programs. */
export function catalogLines(): string {
  const row = (name: MetricName): readonly string[] => textCells(name, ',');
  const widths = COLUMNS.map((_title, column) => Math.max(...METRIC_NAMES.map((name) => row(name)[column]!.length)));
  return families((name) => [joined(row(name), widths)]);
}

/** Returns the text for a terminal of the given width: a table if it fits, else several lines per metric. */
export function catalogScreen(width: number): string {
  if (width < LEAST_TABLE) return families((name) => entry(name, width));
  const widths = [...TABLE_WIDTHS, width - TABLE_WIDTHS.reduce((sum, column) => sum + column + GAP.length, 0)];
  const header = joined(COLUMNS, widths);
  return `${header}\n\n${families((name) => {
    const cells = textCells(name, ', ').map((text, column) => wrapped(text, widths[column]!));
    const height = Math.max(...cells.map(({ length }) => length));
    const cellsOf = (line: number): string[] => cells.map((lines) => lines[line] ?? '');
    return Array.from({ length: height }, (_, line) => joined(cellsOf(line), widths));
  })}`;
}

const GAP = '  ';
/** Widths of all columns but the last. */
const TABLE_WIDTHS = [Math.max(...METRIC_NAMES.map(({ length }) => length)), 9, 10, 21, 32];
/** Minimum width for a table. A narrower one would show the help as a column of single words. */
const LEAST_TABLE = TABLE_WIDTHS.reduce((sum, column) => sum + column + GAP.length, 0) + 36;

function entry(name: MetricName, width: number): string[] {
  const { type, unit, source, help } = specOf(name);
  const labels = labelNamesOf(name);
  const about = `${type} in ${unit}; ${labels.length === 0 ? 'no labels' : `labels: ${labels.join(', ')}`}; source: ${source}`;
  const indented = (text: string): string[] => wrapped(text, width - 2 * GAP.length).map((line) => GAP + GAP + line);
  return [GAP + name, ...indented(about), ...indented(help)];
}

function families(linesOf: (name: MetricName) => readonly string[]): string {
  return [...byHeading()].map(([heading, names]) => `${[heading, ...names.flatMap(linesOf)].join('\n')}\n`).join('\n');
}

function joined(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((text, column) => text.padEnd(widths[column]!))
    .join(GAP)
    .trimEnd();
}

/** Wraps text at spaces. A word that is longer than a line is split. */
function wrapped(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ').flatMap((whole) => pieces(whole, width))) {
    const last = lines.at(-1)!;
    if (last === '') lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function pieces(word: string, width: number): string[] {
  return Array.from({ length: Math.ceil(word.length / width) }, (_, piece) =>
    word.slice(piece * width, (piece + 1) * width),
  );
}

function byHeading(): Map<string, MetricName[]> {
  return Map.groupBy(METRIC_NAMES, (name) => specOf(name).heading);
}

function textCells(name: MetricName, separator: string): readonly string[] {
  const { type, unit, source, help } = specOf(name);
  return [name, type, unit, labelNamesOf(name).join(separator) || '-', source, help];
}
