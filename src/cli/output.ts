/** Output as a table, JSON or YAML. Control characters in external texts never reach the terminal. */
import { redactData } from '#foundation/domain/redact.ts';
import { printable, type TextStyle } from '#operate/show/terminal.ts';
import { UsageError, textOption, type CliIo, type OptionSpec, type OptionValues, type TextStream } from './command.ts';

export { painter, printable, type Style, type TextStyle } from '#operate/show/terminal.ts';

const OUTPUT_FORMATS = ['table', 'json', 'yaml'] as const;
/** Formats of lists. `wide`: the table with all columns, not truncated. `name`: one id in each line. */
export const LIST_FORMATS = [...OUTPUT_FORMATS, 'name', 'wide'] as const;
export type ListFormat = (typeof LIST_FORMATS)[number];

export const OUTPUT_OPTION = optionFor(OUTPUT_FORMATS);
export const LIST_OUTPUT_OPTION = optionFor(LIST_FORMATS);

function optionFor(formats: readonly string[]): OptionSpec {
  return { type: 'string', short: 'o', value: formats.join('|'), help: 'Output format; default: table.' };
}

/** @throws {UsageError} */
export function outputFormat<Format extends string>(values: OptionValues, formats: readonly Format[]): Format;
export function outputFormat(values: OptionValues): (typeof OUTPUT_FORMATS)[number];
export function outputFormat(values: OptionValues, formats: readonly string[] = OUTPUT_FORMATS): string {
  const given = textOption(values, 'output') ?? 'table';
  if (!formats.includes(given)) throw new UsageError(`--output must be one of ${formats.join(', ')}, not '${given}'`);
  return given;
}

/** Writes a document of the program itself, such as a schema, to stdout as JSON. */
export function writeDocument(io: CliIo, document: unknown): void {
  io.stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
}

/** Writes the redacted data to stdout, and nothing else. */
export async function writeData(io: CliIo, format: 'json' | 'yaml', data: unknown): Promise<void> {
  io.stdout.write(await dataText(format, data));
}

/** Redacted data as text. */
export async function dataText(format: 'json' | 'yaml', data: unknown): Promise<string> {
  const json = JSON.stringify(redactData(data), undefined, 2);
  if (format === 'json') return `${json}\n`;
  const { stringify } = await import('yaml');
  // Converted through JSON first, so that both formats have the same fields and no undefined ones.
  return stringify(JSON.parse(json), { lineWidth: 0, aliasDuplicateObjects: false });
}

/** Table with columns two spaces apart; the last column is not padded. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const clean = [header, ...rows.map((row) => row.map(printable))];
  const widths = header.map((_title, index) => Math.max(...clean.map((row) => row[index]?.length ?? 0)));
  return clean
    .map((row) =>
      row
        .map((cell, index) => cell.padEnd(widths[index]!))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}

/** Columns of a terminal; some terminals report none. */
export function terminalColumns({ columns = 0 }: TextStream): number {
  return columns > 0 ? columns : 80;
}

/** Returns true if the stream is a terminal with colors, unless NO_COLOR is set. */
export function usesColor(stream: TextStream, env: CliIo['env']): boolean {
  return stream.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}

export function textStyle(io: CliIo, name: 'stdout' | 'stderr' = 'stdout'): TextStyle {
  const stream = io[name];
  const { columns = 0, isTTY } = stream;
  return { color: usesColor(stream, io.env), ...(isTTY === true && columns > 0 && { width: columns }) };
}
