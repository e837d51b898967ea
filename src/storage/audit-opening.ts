/**
 * Checks that an audit file and a store belong together. A crash leaves the file at most one record ahead, or with an
 * incomplete last line. Any other difference means that one of them was replaced.
 */
import {
  HOUSEKEEPING,
  NOT_COMMITTED,
  TORN,
  type AuditEntry,
  type AuditHead,
  type AuditOpening,
  type AuditRecord,
} from '#automate/ledger/audit-log.ts';
import type { AuditTail } from './audit-tail.ts';

interface Comparison {
  readonly opening: AuditOpening;
  /** Record that the next one follows. */
  readonly after: AuditHead | undefined;
  /** Bytes of the file to keep. */
  readonly keep: number;
}

/** @param known head in the store; absent if the store never had an audit log */
export function compare(tail: AuditTail, known: AuditHead | undefined): Comparison {
  const last = tail.records.at(-1);
  const distrust = disagreement(tail, known);
  if (distrust !== undefined) {
    // A file that may be evidence is never truncated. The chain continues after the records that both of them have.
    const isBehind = last === undefined || (known !== undefined && last.sequence < known.sequence);
    const begins = tail.records.length === 0;
    return {
      opening: { notes: [], distrust: { reason: distrust, begins } },
      after: isBehind ? (known ?? last) : last,
      keep: tail.size,
    };
  }
  // The order matters: a record of a change counts as committed if anything but its withdrawal follows.
  const notes: AuditEntry[] = [];
  const lost = uncommitted(after(tail.records, known)).at(-1);
  if (lost !== undefined) notes.push({ type: NOT_COMMITTED, record: lost.sequence });
  if (tail.tornBytes > 0) notes.push({ type: TORN, bytes: tail.tornBytes });
  return { opening: { notes }, after: last, keep: tail.size - tail.tornBytes };
}

function disagreement(tail: AuditTail, known: AuditHead | undefined): string | undefined {
  const { records, damage, size, tornBytes } = tail;
  const last = records.at(-1);
  if (damage !== undefined) return `the last line of the audit log is damaged: ${damage}`;
  if (known === undefined) {
    return last === undefined && size === tornBytes
      ? undefined
      : `the audit log beside it is of store ${last?.store ?? 'unknown'}, and this store has no record of it`;
  }
  if (last === undefined) return `the audit log is missing: the store has ${known.sequence} records of it`;
  if (last.sequence < known.sequence) {
    return `the audit log ends with record ${last.sequence}, but the store has ${known.sequence}: the log was truncated`;
  }
  const same = records.find(({ sequence }) => sequence === known.sequence);
  if (same !== undefined && same.hash !== known.hash) {
    return `record ${known.sequence} of the audit log differs from the one in the store`;
  }
  const newer = after(records, known);
  // A record that follows a record of a change proves that its transaction was committed, unless it says otherwise.
  const lost = uncommitted(newer);
  const isLast = lost.length === 0 || lost[0] === newer.at(-1);
  if (same !== undefined && isLast) return undefined;
  return `the store is older than its audit log: it has ${known.sequence} of ${last.sequence} records`;
}

function after(records: readonly AuditRecord[], known: AuditHead | undefined): readonly AuditRecord[] {
  return records.filter(({ sequence }) => sequence > (known?.sequence ?? 0));
}

/** Returns the records of changes without a later record that they were not committed. */
function uncommitted(records: readonly AuditRecord[]): readonly AuditRecord[] {
  const lost = new Set(records.filter(({ type }) => type === NOT_COMMITTED).map((record) => record['record']));
  return records.filter(({ type, sequence }) => !HOUSEKEEPING.includes(type) && !lost.has(sequence));
}
