/**
 * Whether an audit file and a store belong together. A crash leaves the file at most one record ahead, or with a line
 * that has no end; anything else means that one of them is not the one that was there.
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
  /** The record that the next one follows. */
  readonly after: AuditHead | undefined;
  /** Bytes of the file that stay. */
  readonly keep: number;
}

/** @param known the head that the store knows; absent where it has never had an audit log */
export function compare(tail: AuditTail, known: AuditHead | undefined): Comparison {
  const last = tail.records.at(-1);
  const distrust = disagreement(tail, known);
  if (distrust !== undefined) {
    // Nothing of a file that may be evidence is cut; the chain goes on behind what both of them know.
    const isBehind = last === undefined || (known !== undefined && last.sequence < known.sequence);
    const begins = tail.records.length === 0;
    return {
      opening: { notes: [], distrust: { reason: distrust, begins } },
      after: isBehind ? (known ?? last) : last,
      keep: tail.size,
    };
  }
  // In this order: a record of a change that is followed by anything but its withdrawal counts as committed.
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
      : `the audit log beside it is of store ${last?.store ?? 'unknown'}, and this store knows nothing of it`;
  }
  if (last === undefined) return `the audit log is missing: the store knows ${known.sequence} records of it`;
  if (last.sequence < known.sequence) {
    return `the audit log ends with record ${last.sequence}, the store knows ${known.sequence}: its end was cut off`;
  }
  const same = records.find(({ sequence }) => sequence === known.sequence);
  if (same !== undefined && same.hash !== known.hash) {
    return `record ${known.sequence} of the audit log is not the one that the store knows`;
  }
  const newer = after(records, known);
  // What follows a record of a change proves that its transaction had committed, unless it says the contrary.
  const lost = uncommitted(newer);
  const isLast = lost.length === 0 || lost[0] === newer.at(-1);
  if (same !== undefined && isLast) return undefined;
  return `the store is older than its audit log: it knows ${known.sequence} records of ${last.sequence}`;
}

function after(records: readonly AuditRecord[], known: AuditHead | undefined): readonly AuditRecord[] {
  return records.filter(({ sequence }) => sequence > (known?.sequence ?? 0));
}

/** Records of changes of which no later one says that they did not commit. */
function uncommitted(records: readonly AuditRecord[]): readonly AuditRecord[] {
  const lost = new Set(records.filter(({ type }) => type === NOT_COMMITTED).map((record) => record['record']));
  return records.filter(({ type, sequence }) => !HOUSEKEEPING.includes(type) && !lost.has(sequence));
}
