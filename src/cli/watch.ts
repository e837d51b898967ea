/** Output that is read once, or again and again with `--watch`. */
import { keepAlive } from '#foundation/platform/clock.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import { CommandError, EXIT, textOption, type Call, type CliIo, type OptionSpec } from './command.ts';
import { printable } from './output.ts';

export const WATCH_OPTION: OptionSpec = {
  type: 'boolean',
  short: 'w',
  help: 'Repeat every 2 seconds until Ctrl-C: redraws a terminal, else appends.',
};

const EVERY_MS = 2_000;
/** Rows of a terminal that reports none. */
const STANDARD_ROWS = 24;

export interface Shown {
  /** Data, for stdout. */
  readonly text: string;
  /** Remark, for stderr. */
  readonly note?: string;
  /** Exit code; default 0. A watched command ends with 0. */
  readonly code?: number;
}

/** Shows what `read` returns, once or with `--watch` until the signal. */
export async function showOrWatch({ io, values }: Call, read: () => Promise<Shown>): Promise<number> {
  if (values['watch'] !== true) {
    const { text, note = '', code = EXIT.ok } = await read();
    io.stdout.write(text);
    io.stderr.write(note);
    return code;
  }
  const isData = ['json', 'yaml'].includes(textOption(values, 'output') ?? '');
  using _alive = keepAlive();
  let last: Shown | undefined;
  try {
    for (;;) {
      last = await readAgain(read, last);
      draw(io, last, isData);
      await sleep(io.clock, EVERY_MS, io.signal);
    }
  } catch (error) {
    if (io.signal.aborted) return EXIT.ok;
    throw error;
  }
}

/** Keeps the last output while the daemon does not respond, such as during its restart. */
async function readAgain(read: () => Promise<Shown>, last: Shown | undefined): Promise<Shown> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof CommandError) || last === undefined) throw error;
    return { text: last.text, note: `No new data: ${printable(error.message)}\n` };
  }
}

/** @param isData data is appended on a terminal as well, because a document must be whole */
function draw({ stdout, stderr }: CliIo, { text, note = '' }: Shown, isData: boolean): void {
  if (stdout.isTTY !== true || isData) {
    stdout.write(text);
    stderr.write(note);
    return;
  }
  const { rows = 0 } = stdout;
  const room = (rows > 1 ? rows : STANDARD_ROWS) - 1;
  const lines = `${text}${note}`.replace(/\n$/, '').split('\n');
  const hidden = lines.length - room;
  const shown = hidden > 0 ? [...lines.slice(0, room - 1), `… ${hidden + 1} more lines`] : lines;
  // Each line is cleared behind its text, and the screen below the last one: clearing it first would flicker.
  stdout.write(`\u001B[H${shown.map((line) => `${line}\u001B[K\n`).join('')}\u001B[J`);
}
