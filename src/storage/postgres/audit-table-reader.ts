/** Reader of the audit log in PostgreSQL. */
import { parseAuditRecord } from '#automate/ledger/audit-chain.ts';
import type { AuditRecord } from '#automate/ledger/audit-log.ts';
import { matcherOf, SINCE_MARGIN_MS } from '#automate/ledger/audit-match.ts';
import { AuditCursorError, type AuditPage, type AuditQuery, type AuditReader } from '#automate/ledger/audit-reading.ts';
import { all, get, type Database, type Value, type Work } from '../database.ts';
import { storedHead } from '../audit-head.ts';
import { NEXT, verifyTable } from './audit-table.ts';

/** Records that one statement looks at, and its maximum number of rows. */
const SPAN = 20_000;
const ROWS = 1_000;
/** Maximum number of records that a call looks at, and of characters that it reads. */
const MOST_RECORDS = 1_000_000;
const MOST_CHARACTERS = 8 * 1_048_576;

/** @param place name of the log, for messages */
export function createAuditTableReader(database: Database, place: string): AuditReader {
  return {
    place,
    head: () => database.read(storedHead()),
    records: () => readRecords(database),
    search: (query, signal) => database.read(search(query, signal)),
    verify: (seen) => database.read(verifyTable(seen)),
  };
}

async function* readRecords(database: Database): AsyncGenerator<AuditRecord> {
  for (let last = 0; ;) {
    const rows = await database.read(all(NEXT, last));
    if (rows.length === 0) return;
    for (const { record: line } of rows) {
      const record = parseAuditRecord(String(line));
      if (typeof record === 'object') yield record;
    }
    last = Number(rows.at(-1)!['sequence']);
  }
}

/** A search reads a bounded number of records. Its cursor is the sequence of the last one. */
function* search(query: AuditQuery, signal: AbortSignal): Work<AuditPage> {
  const { oldest, newest } = yield* bounds(query);
  const matches = matcherOf(query);
  const records: AuditRecord[] = [];
  let damaged = 0;
  let characters = 0;
  const start = startOf(query.cursor, newest);
  let before = start;
  while (before > oldest) {
    signal.throwIfAborted();
    const from = Math.max(oldest, before - SPAN);
    const rows = yield* all(...selectionOf(query, { from, before }));
    for (const { sequence, record: line } of rows) {
      before = Number(sequence);
      characters += String(line).length;
      const found = matches(String(line));
      if (found === 'end') return { records, damaged };
      if (found === 'damaged') damaged += 1;
      else if (found !== undefined) records.push(found);
      if (records.length >= query.limit) return page(before);
    }
    if (rows.length < ROWS) before = from;
    if (start - before >= MOST_RECORDS || characters >= MOST_CHARACTERS) return page(before);
  }
  return { records, damaged };

  function page(last: number): AuditPage {
    return { records, damaged, ...(last > oldest && { cursor: String(last) }) };
  }
}

/** Returns the sequences of the oldest record to search, and of the newest one. */
function* bounds({ since }: AuditQuery): Work<{ readonly oldest: number; readonly newest: number }> {
  const ends = yield* get('SELECT min(sequence) AS oldest, max(sequence) AS newest FROM audit');
  const old = since === undefined ? undefined : yield* get(OLDER, since - SINCE_MARGIN_MS);
  return {
    oldest: Math.max(Number(ends?.['oldest'] ?? 1), Number(old?.['sequence'] ?? 0) + 1),
    newest: Number(ends?.['newest'] ?? 0),
  };
}

/** Reads the log from its end, as far as the first record that is too old. */
const OLDER = 'SELECT sequence FROM audit WHERE at < ? ORDER BY sequence DESC LIMIT 1';

function startOf(cursor: string | undefined, newest: number): number {
  if (cursor === undefined) return newest + 1;
  if (!/^\d{1,15}$/.test(cursor) || Number(cursor) > newest) {
    throw new AuditCursorError('the cursor names no position in the audit log; start again without a cursor');
  }
  return Number(cursor);
}

/** Returns a query of all rows that can match, newest first. */
function selectionOf(
  { type, policy, account, by, text }: AuditQuery,
  { from, before }: { readonly from: number; readonly before: number },
): readonly [sql: string, ...values: Value[]] {
  const conditions: readonly (readonly [sql: string, ...values: (Value | undefined)[]])[] = [
    ['sequence >= ? AND sequence < ?', from, before],
    ["(type = ? OR starts_with(type, ? || '.'))", type, type],
    ['policy = ?', policy],
    ['account = ?', account],
    ['strpos(record, ?) > 0', by === undefined ? undefined : `"by":${JSON.stringify(by)}`],
    ['strpos(lower(record), ?) > 0', text === undefined ? undefined : plainPart(text)],
  ];
  const given = conditions.filter(([, ...values]) => values.every((value) => value !== undefined));
  const where = given.map(([sql]) => sql).join(' AND ');
  return [
    `SELECT sequence, record FROM audit WHERE ${where} ORDER BY sequence DESC LIMIT ${ROWS}`,
    ...given.flatMap(([, ...values]) => values as Value[]),
  ];
}

/**
 * Returns the longest part of a text that every match contains in the same form. The database changes only ASCII letters
 * to lower case. JavaScript also makes an i and a k from other letters.
 */
function plainPart(text: string): string | undefined {
  const parts = text.toLowerCase().match(/[ !#-[\]-hjl-~]+/g) ?? [];
  return parts.toSorted((a, b) => b.length - a.length)[0];
}
