/** Log lines for a terminal: time, level, message, then the fields as key=value. */

export interface TextSink {
  write(text: string): unknown;
}

const COLORS: Readonly<Record<string, string>> = { warn: '\u001B[33m', error: '\u001B[31m' };
const DIM = '\u001B[2m';
const RESET = '\u001B[0m';

/** Returns a pino destination that rewrites each JSON line as text. A line that is not JSON passes unchanged. */
export function textLog(sink: TextSink, options: { readonly color: boolean }): { write(line: string): void } {
  return { write: (line) => void sink.write(`${textOf(line, options.color)}\n`) };
}

function textOf(line: string, color: boolean): string {
  let record: Record<string, unknown>;
  try {
    record = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return line.trimEnd();
  }
  const { level, time, msg, ...rest } = record;
  const name = String(level);
  const clock = String(time).slice(11, 19);
  const data = Object.entries(rest)
    .map(([key, value]) => `${key}=${printable(value)}`)
    .join(' ');
  const paint = (code: string | undefined, text: string): string =>
    color && code !== undefined && text !== '' ? `${code}${text}${RESET}` : text;
  return [paint(DIM, clock), paint(COLORS[name], name.toUpperCase().padEnd(5)), String(msg), paint(DIM, data)]
    .join(' ')
    .trimEnd();
}

/**
 * Quotes a value that is not a single plain word, so that control characters in external texts cannot reach the
 * terminal.
 */
function printable(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /^[\w.:/@+-]+$/.test(text) ? text : JSON.stringify(text);
}
