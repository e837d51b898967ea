/** Data as a table, as JSON or as YAML. Texts of other people reach the terminal without their control characters. */
import { redact, redactData } from '#foundation/domain/redact.ts';
import { UsageError, textOption, type CliIo, type OptionSpec, type OptionValues, type TextStream } from './command.ts';

const OUTPUT_FORMATS = ['table', 'json', 'yaml'] as const;
type OutputFormat = (typeof OUTPUT_FORMATS)[number];

export const OUTPUT_OPTION: OptionSpec = {
  type: 'string',
  short: 'o',
  value: OUTPUT_FORMATS.join('|'),
  help: 'Form of the output; default: table.',
};

/** @throws {UsageError} */
export function outputFormat(values: OptionValues): OutputFormat {
  const given = textOption(values, 'output') ?? 'table';
  const format = OUTPUT_FORMATS.find((known) => known === given);
  if (format === undefined) throw new UsageError(`--output takes ${OUTPUT_FORMATS.join(', ')}, not '${given}'`);
  return format;
}

/** Writes a document of the program itself, such as a schema, to stdout as JSON. */
export function writeDocument(io: CliIo, document: unknown): void {
  io.stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
}

/** Writes the data, redacted, and nothing else to stdout. */
export async function writeData(io: CliIo, format: 'json' | 'yaml', data: unknown): Promise<void> {
  if (format === 'json') {
    io.stdout.write(`${JSON.stringify(redactData(data), undefined, 2)}\n`);
    return;
  }
  const { stringify } = await import('yaml');
  // Through JSON first: both forms have the same fields, and neither has those that are undefined.
  io.stdout.write(
    stringify(JSON.parse(JSON.stringify(redactData(data))), { lineWidth: 0, aliasDuplicateObjects: false }),
  );
}

/** Columns two spaces apart; the last one is not padded. */
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

/** Returns the text without credentials, on one line, and with nothing in it that a terminal would obey. */
export function printable(text: string): string {
  return redact(text).replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    const code = character.codePointAt(0)!;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
  });
}

/** Some terminals say that they have no columns at all. */
export function terminalColumns({ columns = 0 }: TextStream): number {
  return columns > 0 ? columns : 80;
}

/** Whether to paint: on a terminal that can, unless NO_COLOR says no. */
export function usesColor(stream: TextStream, env: CliIo['env']): boolean {
  return stream.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}

export interface TextStyle {
  readonly color: boolean;
  /** Columns of the terminal; absent where nothing needs to be cut. */
  readonly width?: number;
}

export function textStyle(io: CliIo, name: 'stdout' | 'stderr' = 'stdout'): TextStyle {
  const stream = io[name];
  const { columns = 0, isTTY } = stream;
  return { color: usesColor(stream, io.env), ...(isTTY === true && columns > 0 && { width: columns }) };
}

const STYLES = { bold: '1', dim: '2', red: '31', green: '32', yellow: '33', cyan: '36' } as const;
export type Style = keyof typeof STYLES;

export function painter(color: boolean): (style: Style, text: string) => string {
  return (style, text) => (color && text !== '' ? `\u001B[${STYLES[style]}m${text}\u001B[0m` : text);
}
