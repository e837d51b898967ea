/** A list of the daemon's API as a table, as ids, or as the API's response. */
import { formatCount } from '#foundation/domain/counted.ts';
import { CommandError, EXIT, type Call, type CliIo, type DirectNeeds } from './command.ts';
import { exchange, pathWith, type DaemonCall, type Query } from './daemon-exchange.ts';
import { findDaemon } from './daemon-option.ts';
import { limitOption } from './list-options.ts';
import { dataText, LIST_FORMATS, outputFormat, printable, textStyle, type ListFormat } from './output.ts';
import { listTable, type Column } from '#operate/show/text-table.ts';
import { showOrWatch, type Shown } from './watch.ts';

/** @typeParam Data response of the API; several pages are one response with all rows */
export interface Listing<Row, Data = unknown> {
  readonly path: string;
  readonly query?: Query;
  /** Field of the response that has the rows. */
  readonly key: string;
  /** False if the route returns all rows at once, and takes no limit. */
  readonly isPaged?: false;
  readonly columns: readonly Column<Row>[];
  readonly id: (row: Row) => string;
  /** Collectors that a daemon needs for it; see `DirectNeeds`. */
  readonly collectors: DirectNeeds['collectors'];
  /** Sentence for an empty list, with what would fill it. */
  readonly empty: string;
  /** Remark about the response, for stderr. */
  readonly note?: (data: Data) => string | undefined;
  /** Returns true if rows are unknown, so that an empty list does not mean that there are none. The remark has the reason. */
  readonly isUnknown?: (data: Data) => boolean;
}

/** Rows that are requested at once. */
const PAGE = 100;
/** Maximum number of responses in a row without a row: each may have cost requests to the service. */
const MOST_EMPTY = 10;

/** Runs a command that lists: reads the pages up to `--limit`, and shows them, once or with `--watch`. */
export async function runList<Row, Data>(call: Call, listing: Listing<Row, Data>): Promise<number> {
  const format = outputFormat(call.values, LIST_FORMATS);
  const limit = limitOption(call.values);
  const daemon = await findDaemon(call, { writes: false, collectors: listing.collectors });
  return showOrWatch(call, async () => {
    const answer = await readPages<Row>(call.io, daemon, listing, limit);
    return shown(call.io, format, answer, listing, limit);
  });
}

interface Answer<Row> {
  readonly data: Readonly<Record<string, unknown>>;
  readonly rows: readonly Row[];
}

/** Reads up to `limit` rows, and possibly some more. */
export async function readPages<Row>(
  { stderr }: CliIo,
  daemon: DaemonCall,
  { path, query = {}, key, isPaged }: Pick<Listing<Row>, 'path' | 'query' | 'key' | 'isPaged'>,
  limit: number,
): Promise<Answer<Row>> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  let emptyInARow = 0;
  for (;;) {
    const count = Math.min(PAGE, limit - rows.length);
    const page = isPaged === false ? {} : { limit: count, cursor };
    const data = await exchange(daemon, { method: 'GET', path: pathWith(path, { ...query, ...page }) });
    if (!Array.isArray(data[key]))
      throw new CommandError(`the response of ${path} has no ${key}; check that it is opsd`);
    rows.push(...(data[key] as Row[]));
    emptyInARow = data[key].length === 0 ? emptyInARow + 1 : 0;
    const next = typeof data['cursor'] === 'string' && data['cursor'] !== '' ? data['cursor'] : undefined;
    if (stderr.isTTY === true && cursor !== undefined) stderr.write('\r\u001B[K');
    if (next === undefined || next === cursor || rows.length >= limit || emptyInARow === MOST_EMPTY) {
      return { data: { ...data, [key]: rows }, rows };
    }
    cursor = next;
    if (stderr.isTTY === true) stderr.write(`\r${formatCount(rows.length)} rows read…`);
  }
}

async function shown<Row, Data>(
  io: CliIo,
  format: ListFormat,
  { data, rows }: Answer<Row>,
  { columns, id, empty, note, isUnknown }: Listing<Row, Data>,
  limit: number,
): Promise<Shown> {
  const isIncomplete = isUnknown?.(data as Data) === true;
  const code = isIncomplete ? EXIT.findings : EXIT.ok;
  if (format === 'json' || format === 'yaml') return { text: await dataText(format, data), code };
  const hasMore = rows.length > limit || (typeof data['cursor'] === 'string' && data['cursor'] !== '');
  const isStopped = hasMore && rows.length < limit;
  const notes = [
    ...(rows.length === 0 && !isStopped && format !== 'name' && !isIncomplete ? [empty] : []),
    ...(isStopped
      ? [`The search stopped after ${MOST_EMPTY} pages without a match. Limit the time, or the filters.`]
      : []),
    ...(hasMore && !isStopped ? [`The first ${limit}; more with --limit.`] : []),
    note?.(data as Data),
  ].filter((text) => text !== undefined);
  const at = typeof data['at'] === 'number' ? data['at'] : io.clock.now();
  const text = rows.length === 0 ? '' : rowsText(io, format, rows.slice(0, limit), { columns, id, at });
  return { text, note: notes.map((line) => `${printable(line)}\n`).join(''), code };
}

/** Rows as ids, or as a table. Only the wide one has all columns, and is as wide as they need. */
export function rowsText<Row>(
  io: CliIo,
  format: Exclude<ListFormat, 'json' | 'yaml'>,
  rows: readonly Row[],
  { columns, id, at }: Pick<Listing<Row>, 'columns' | 'id'> & { readonly at: number },
): string {
  if (format === 'name') return rows.map((row) => `${printable(id(row))}\n`).join('');
  const isWide = format === 'wide';
  const { width } = textStyle(io);
  return listTable(
    columns.filter((column) => isWide || column.isWide !== true),
    rows,
    { at, ...(!isWide && width !== undefined && { width }) },
  );
}
