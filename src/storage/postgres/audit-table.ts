/** Audit log as a table: the chain is the same as in a file, and a record commits together with its change. */
import { breakBetween, cutOff, differenceFrom, parseAuditRecord, sealRecord } from '#automate/ledger/audit-chain.ts';
import type { AuditEntry, AuditHead, AuditRecord, AuditVerdict } from '#automate/ledger/audit-log.ts';
import type { SeenRecords } from '#automate/ledger/audit-reading.ts';
import { storedHead } from '../audit-head.ts';
import { all, run, type Row, type Work } from '../database.ts';

/** One statement, because each one is a round trip. */
const APPEND = `WITH head AS (
    INSERT INTO meta (key, value) VALUES ('audit_head', ?1) ON CONFLICT (key) DO UPDATE SET value = excluded.value
  )
  INSERT INTO audit (sequence, at, type, account, policy, record, hash) VALUES (?2, ?3, ?4, ?5, ?6, ?7, ?8)`;

/** Rows of a part, oldest first. */
export const NEXT = 'SELECT * FROM audit WHERE sequence > ? ORDER BY sequence LIMIT 1000';

interface Origin {
  readonly instance: string;
  readonly epoch: number;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly after: AuditHead | undefined;
}

/** Appends an entry. The transaction must hold the lock of the log. */
export function* append(entry: AuditEntry, { instance, epoch, now, after }: Origin): Work<AuditHead> {
  const time = new Date(now).toISOString();
  const { line, head } = sealRecord(entry, { time, store: instance, opening: epoch, after });
  const { type, account = null, policy = null } = entry;
  const { sequence, hash } = head;
  yield* run(APPEND, `${sequence}:${hash}`, sequence, now, type, account, policy, line, hash);
  return head;
}

/** Checks the whole chain. */
export function* verifyTable({ known, after }: SeenRecords = {}): Work<AuditVerdict> {
  const stored = yield* storedHead();
  let before = after;
  let records = 0;
  const verdict = (problem?: string): AuditVerdict => ({
    records,
    isTorn: false,
    head: before && { sequence: before.sequence, hash: before.hash },
    finding: problem === undefined ? undefined : { file: 'table audit', line: records + 1, problem },
  });
  for (let last = 0; ;) {
    const rows = yield* all(NEXT, last);
    for (const row of rows) {
      const record = parseAuditRecord(String(row['record']));
      if (typeof record === 'string') return verdict(record);
      const problem = breakBetween(before, record) ?? differenceOf(row, record) ?? differenceFrom(known, record);
      if (problem !== undefined) return verdict(problem);
      before = record;
      records += 1;
    }
    if (rows.length === 0) break;
    last = Number(rows.at(-1)!['sequence']);
  }
  const cut = cutOff(known, before);
  if (cut !== undefined || (stored?.sequence === before?.sequence && stored?.hash === before?.hash))
    return verdict(cut);
  return verdict(`the log ends with record ${before?.sequence ?? 'none'}, but the store has ${stored?.sequence ?? 0}`);
}

/** Difference between a record and the columns that repeat its parts. */
function differenceOf(row: Row, { sequence, hash, type, time, account, policy }: AuditRecord): string | undefined {
  const parts = { sequence, hash, type, at: Date.parse(time), account: account ?? null, policy: policy ?? null };
  const column = Object.entries(parts).find(([name, value]) => row[name] !== value)?.[0];
  return column && `column ${column} of record ${sequence} was changed`;
}
