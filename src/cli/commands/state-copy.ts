import type { CopySummary, CopyWatch } from '#storage/copy/store-copy.ts';
import { formatCount } from '#foundation/domain/counted.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { Secret } from '#foundation/platform/secret.ts';
import type { PostgresDatabase } from '#storage/postgres/postgres-database.ts';
import {
  CommandError,
  EXIT,
  textOption,
  UsageError,
  valueOption,
  type Call,
  type CliIo,
  type Command,
} from '../command.ts';
import { OUTPUT_OPTION, outputFormat, printable, terminalColumns, textTable, writeData } from '../output.ts';

export const stateCopyCommand: Command = {
  name: 'state copy',
  summary: 'Move a store between SQLite and PostgreSQL, or take the move back.',
  options: {
    from: valueOption('STORE', 'Store to move: sqlite:PATH, or postgres:FILE with the URL.'),
    to: valueOption('STORE', 'New place: a path without a store, or an empty database.'),
    undo: { type: 'boolean', help: 'Make the store of --from, which was moved, usable again.' },
    output: OUTPUT_OPTION,
  },
  details:
    'No daemon may run on either store. The copy has all tables and the audit log. It is complete and verified, or it ' +
    'does not exist. Then --from is marked as moved, and no daemon starts on it. The URL of PostgreSQL is in a file, ' +
    'because other users can see the arguments of a process.',
  examples: [
    'opsd state copy --from sqlite:/data/opsd.db --to postgres:/run/secrets/url',
    'opsd state copy --undo --from sqlite:/data/opsd.db',
  ],
  async run({ io, values, parts }) {
    const format = outputFormat(values);
    const from = placeOption('from', textOption(values, 'from'));
    const to = textOption(values, 'to');
    if (values['undo'] === true) {
      if (to !== undefined) throw new UsageError('--undo takes only --from; remove --to');
      return undo(from, { io, parts }, format);
    }
    const summary = await copy(from, placeOption('to', to), { io, parts });
    if (format === 'table') io.stdout.write(summaryText(summary, textOption(values, 'from')!));
    else await writeData(io, format, summary);
    return EXIT.ok;
  },
};

interface Place {
  readonly kind: 'sqlite' | 'postgres';
  /** Path of the store, or of the file with the URL. */
  readonly path: string;
}

function placeOption(name: 'from' | 'to', text: string | undefined): Place {
  // The URL must not be repeated in the message.
  if (text !== undefined && /:\/\//.test(text)) {
    throw new UsageError(
      `--${name} must not have a URL, because other users can see the arguments of a process. ` +
        'Write the URL to a file that only you can read, and give postgres:FILE.',
    );
  }
  const [, kind, path] = /^(sqlite|postgres):(.+)$/s.exec(text ?? '') ?? [];
  if (kind === undefined) throw new UsageError(`--${name} must be sqlite:PATH or postgres:FILE`);
  return { kind: kind as Place['kind'], path: path! };
}

type Context = Pick<Call, 'io' | 'parts'>;

async function copy(from: Place, to: Place, context: Context): Promise<CopySummary> {
  if (from.kind === to.kind) {
    throw new UsageError('one of --from and --to must be sqlite:PATH, and the other one postgres:FILE');
  }
  const { moveToPostgres, moveToSqlite } = await import('#storage/copy/store-copy.ts');
  const watch = watchOn(context.io);
  try {
    return from.kind === 'sqlite'
      ? await moveToPostgres(from.path, await opened(to, context), watch)
      : await moveToSqlite(await opened(from, context), to.path, watch);
  } finally {
    watch.end();
  }
}

async function undo(from: Place, context: Context, format: 'table' | 'json' | 'yaml'): Promise<number> {
  const { returnToPostgres, returnToSqlite } = await import('#storage/copy/return-store.ts');
  const movedTo =
    from.kind === 'sqlite' ? returnToSqlite(from.path) : await returnToPostgres(await opened(from, context));
  const text =
    movedTo === undefined
      ? 'The store was not moved.\n'
      : `The store can be used again. It had been moved to ${movedTo}, where no daemon must run any more.\n` +
        'The daemon will not act on it until: opsd state adopt --reason TEXT\n';
  if (format === 'table') context.io.stdout.write(text);
  else await writeData(context.io, format, { from: from.path, ...(movedTo !== undefined && { movedTo }) });
  return EXIT.ok;
}

async function opened({ path }: Place, { io, parts }: Context): Promise<PostgresDatabase> {
  const { openPostgres } = await import('#storage/postgres/postgres-database.ts');
  const url = Secret.fromFile(path);
  try {
    url.reveal();
  } catch (error) {
    throw new CommandError(`the file with the URL cannot be read: ${errorMessage(error)}`, { cause: error });
  }
  // The second connection finds out the outcome of a commit whose response was lost.
  return parts.use(openPostgres({ url, name: 'opsd state copy', poolSize: 2, clock: io.clock }));
}

const REDRAW_MS = 200;

const STEPS = { check: 'checking', copy: 'copying', verify: 'verifying' };

/** Shows the progress on one line of a terminal. */
function watchOn({ stderr, clock, signal }: CliIo): CopyWatch & { readonly end: () => void } {
  let drawnAt = -Infinity;
  const draw = (text: string): void =>
    void (stderr.isTTY === true && stderr.write(`\r${text.slice(0, terminalColumns(stderr) - 1)}\u001B[K`));
  return {
    signal,
    onProgress(step, table, rows) {
      const now = clock.monotonic();
      if (now - drawnAt < REDRAW_MS) return;
      drawnAt = now;
      draw(`${STEPS[step]} ${printable(table)}${step === 'check' ? '' : `: ${formatCount(rows)} rows`}`);
    },
    end: () => draw(''),
  };
}

function summaryText({ from, to, tables, audit }: CopySummary, source: string): string {
  const filled = tables.filter(({ rows }) => rows > 0);
  const total = tables.reduce((sum, { rows }) => sum + rows, 0);
  const head = audit.head === undefined ? '' : `, head ${audit.head}`;
  return [
    textTable(
      ['TABLE', 'ROWS'],
      filled.map(({ table, rows }) => [table, formatCount(rows)]),
    ),
    `\nMoved ${printable(from)} to ${printable(to)}: ${formatCount(total)} rows in ${tables.length} tables, `,
    `${formatCount(audit.records)} records of the audit log${head}. Each row was read again and compared.\n`,
    'The old store is marked as moved: no daemon starts on it. Configure the new one, and start the daemon.\n',
    `To go back: opsd state copy --undo --from ${printable(source)}\n`,
  ].join('');
}
