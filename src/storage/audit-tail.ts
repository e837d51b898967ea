/** End of the audit file, with enough records to compare it with the store. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { breakBetween, parseAuditRecord } from '#automate/ledger/audit-chain.ts';
import type { AuditRecord } from '#automate/ledger/audit-log.ts';
import { segmentsOf } from '#automate/ledger/audit-reader.ts';

/** Bytes to read. A store that is more records than this behind its log is an old copy in any case. */
const TAIL_BYTES = 262_144;

export interface AuditTail {
  /** Size of the file in bytes. */
  readonly size: number;
  /** Last consecutive records without a damaged line between them, oldest first. */
  readonly records: readonly AuditRecord[];
  /** True if the log has no earlier records. */
  readonly isWhole: boolean;
  /** Bytes of an incomplete last line. */
  readonly tornBytes: number;
  /** Damage of the last complete line. */
  readonly damage?: string;
}

/** Reads the end of the log. If the current file is short, the result includes the end of the newest segment. */
export function readLogTail(fd: number, path: string): AuditTail {
  const tail = readTail(fd);
  const segment = tail.isWhole ? segmentsOf(path).at(-1) : undefined;
  if (segment === undefined) return tail;
  const older = readSegment(segment);
  const [first] = tail.records;
  if (first === undefined) return { ...older, size: tail.size, tornBytes: tail.tornBytes };
  const joins = breakBetween(older.records.at(-1), first) === undefined;
  return joins ? { ...tail, records: [...older.records, ...tail.records], isWhole: false } : tail;
}

function readSegment(path: string): AuditTail {
  const fd = openSync(path, 'r');
  try {
    return readTail(fd);
  } finally {
    closeSync(fd);
  }
}

function readTail(fd: number): AuditTail {
  const { size } = fstatSync(fd);
  const length = Math.min(size, TAIL_BYTES);
  const bytes = Buffer.alloc(length);
  for (let read = 0; read < length;) {
    const got = readSync(fd, bytes, read, length - read, size - length + read);
    if (got === 0) throw new Error('the file became shorter during the reading');
    read += got;
  }
  const end = bytes.lastIndexOf(0x0a) + 1;
  const lines = bytes.subarray(0, end).toString('utf8').split('\n').slice(0, -1);
  const isWhole = length === size;
  // The first line of a partial read is incomplete.
  if (!isWhole) lines.shift();
  const records: AuditRecord[] = [];
  let damage: string | undefined;
  for (const line of lines.toReversed()) {
    const record = parseAuditRecord(line);
    if (typeof record === 'string') {
      if (records.length === 0) damage = record;
      break;
    }
    records.unshift(record);
  }
  return {
    size,
    records,
    isWhole: isWhole && records.length === lines.length,
    tornBytes: length - end,
    damage,
  };
}
