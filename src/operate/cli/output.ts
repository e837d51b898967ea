/** Output as a table, JSON or YAML. Control characters in external texts never reach the terminal. */
import { redact, redactData } from '#foundation/domain/redact.ts';
import { UsageError, textOption, type CliIo, type OptionSpec, type OptionValues, type TextStream } from './command.ts';

const OUTPUT_FORMATS = ['table', 'json', 'yaml'] as const;
type OutputFormat = (typeof OUTPUT_FORMATS)[number];

export const OUTPUT_OPTION: OptionSpec = {
  type: 'string',
  short: 'o',
  value: OUTPUT_FORMATS.join('|'),
  help: 'Output format; default: table.',
};

/** @throws {UsageError} */
export function outputFormat(values: OptionValues): OutputFormat {
  const given = textOption(values, 'output') ?? 'table';
  const format = OUTPUT_FORMATS.find((known) => known === given);
  if (format === undefined)
    throw new UsageError(`--output must be one of ${OUTPUT_FORMATS.join(', ')}, not '${given}'`);
  return format;
}

/** Writes a document of the program itself, such as a schema, to stdout as JSON. */
export function writeDocument(io: CliIo, document: unknown): void {
  io.stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
}

/** Writes the redacted data to stdout, and nothing else. */
export async function writeData(io: CliIo, format: 'json' | 'yaml', data: unknown): Promise<void> {
  if (format === 'json') {
    io.stdout.write(`${JSON.stringify(redactData(data), undefined, 2)}\n`);
    return;
  }
  const { stringify } = await import('yaml');
  // Converted through JSON first, so that both formats have the same fields and no undefined ones.
  io.stdout.write(
    stringify(JSON.parse(JSON.stringify(redactData(data))), { lineWidth: 0, aliasDuplicateObjects: false }),
  );
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

/** Returns the text without credentials, on one line, and without control characters for a terminal. */
export function printable(text: string): string {
  return redact(text).replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    const code = character.codePointAt(0)!;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
  });
}

/** Columns of a terminal; some terminals report none. */
export function terminalColumns({ columns = 0 }: TextStream): number {
  return columns > 0 ? columns : 80;
}

/** Returns true if the stream is a terminal with colors, unless NO_COLOR is set. */
export function usesColor(stream: TextStream, env: CliIo['env']): boolean {
  return stream.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}

export interface TextStyle {
  readonly color: boolean;
  /** Columns of the terminal; absent if nothing has to be truncated. */
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
