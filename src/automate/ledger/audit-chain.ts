/** Records of the audit log as lines, each chained to the previous one by its hash. */
import { createHash } from 'node:crypto';
import { redact } from '#foundation/domain/redact.ts';
import { jsonOf } from '#foundation/domain/json.ts';
import type { AuditEntry, AuditHead, AuditRecord, AuditValue } from './audit-log.ts';

/** Longest text in a record: reasons are written by people. */
const MAX_TEXT = 1_000;

interface Place {
  /** ISO 8601. */
  readonly time: string;
  readonly store: string;
  /** Number of the store's opening. */
  readonly opening: number;
  /** Last record so far. */
  readonly after: AuditHead | undefined;
}

/** Returns the line, without its end, of an entry that follows `after`. */
export function sealRecord(
  entry: AuditEntry,
  { time, store, opening, after }: Place,
): { line: string; head: AuditHead } {
  const sequence = (after?.sequence ?? 0) + 1;
  const body = { ...shortened(entry), sequence, time, store, opening, previous: after?.hash ?? '' };
  const hash = sha256(canonical(body));
  return { line: canonical({ ...body, hash }), head: { sequence, hash } };
}

/** @returns the record, or the error in the line itself */
export function parseAuditRecord(line: string): AuditRecord | string {
  const value = jsonOf(line);
  if (value === undefined) return 'it is not JSON';
  if (!isRecord(value)) return 'it is not a record of an audit log';
  const { hash, ...body } = value;
  if (sha256(canonical(body)) !== hash)
    return `record ${value.sequence} was changed: its hash does not match its content`;
  return canonical(value) === line ? value : `record ${value.sequence} was rewritten in another form`;
}

/** Error between two records; undefined if the second one follows the first. */
export function breakBetween(before: AuditHead | undefined, record: AuditRecord): string | undefined {
  const { sequence, previous } = record;
  if (before === undefined) {
    return sequence === 1 || record['begins'] === true
      ? undefined
      : `the log begins with record ${sequence}: the earlier records are missing`;
  }
  if (sequence !== before.sequence + 1)
    return `record ${sequence} follows record ${before.sequence}: the records between them are missing`;
  return previous === before.hash
    ? undefined
    : `record ${sequence} does not follow record ${before.sequence}: the hash of the previous record does not match`;
}

/** Difference of a record from the known one of the same sequence. */
export function differenceFrom(known: AuditHead | undefined, { sequence, hash }: AuditHead): string | undefined {
  if (known?.sequence !== sequence || known.hash === hash) return undefined;
  return `record ${sequence} differs from the known one: the log was rewritten`;
}

/** Error of a log that ends with `head`, before the known record. */
export function cutOff(known: AuditHead | undefined, head: AuditHead | undefined): string | undefined {
  if (known === undefined || known.sequence <= (head?.sequence ?? 0)) return undefined;
  const end = head === undefined ? 'the log is empty' : `the log ends with record ${head.sequence}`;
  return `${end}, but record ${known.sequence} existed: the end of the log was cut off`;
}

/** JSON with sorted keys, so that equal values give equal texts. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
}

/** Short hash in place of a text that may contain a secret, such as the URL of a group. Equal texts have equal hashes. */
export function standIn(text: string): string {
  return sha256(text).slice(0, 12);
}

function shortened(entry: AuditEntry): Record<string, AuditValue | undefined> {
  return Object.fromEntries(
    Object.entries(entry).map(([key, value]) => [
      key,
      typeof value === 'string' ? redact(value).slice(0, MAX_TEXT) : value,
    ]),
  );
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function isRecord(value: unknown): value is AuditRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { sequence, time, store, epoch, previous, hash, type } = value as Partial<Record<string, unknown>>;
  // Records of early versions have their opening as `epoch`.
  const { opening = epoch } = value as Partial<Record<string, unknown>>;
  const texts = [time, store, previous, hash, type];
  return Number.isInteger(sequence) && Number.isInteger(opening) && texts.every((text) => typeof text === 'string');
}
