/** Records of the audit log as lines, each tied to the one before by its hash. */
import { createHash } from 'node:crypto';
import { redact } from '#foundation/domain/redact.ts';
import type { AuditEntry, AuditHead, AuditRecord, AuditValue } from './audit-log.ts';

/** Longest text in a record: reasons are written by people. */
const MAX_TEXT = 1_000;

interface Place {
  /** ISO 8601. */
  readonly time: string;
  readonly store: string;
  readonly epoch: number;
  /** Where the log ends so far. */
  readonly after: AuditHead | undefined;
}

/** An entry as the line, without its end, that follows `after`. */
export function seal(entry: AuditEntry, { time, store, epoch, after }: Place): { line: string; head: AuditHead } {
  const sequence = (after?.sequence ?? 0) + 1;
  const body = { ...shortened(entry), sequence, time, store, epoch, previous: after?.hash ?? '' };
  const hash = sha256(canonical(body));
  return { line: canonical({ ...body, hash }), head: { sequence, hash } };
}

/** @returns the record, or what is wrong with the line on its own */
export function parseRecord(line: string): AuditRecord | string {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return 'it is not JSON';
  }
  if (!isRecord(value)) return 'it is no record of an audit log';
  const { hash, ...body } = value;
  if (sha256(canonical(body)) !== hash)
    return `record ${value.sequence} was changed: its hash is not that of its content`;
  return canonical(value) === line ? value : `record ${value.sequence} was written anew in another form`;
}

/** What is wrong with a record after the one before; undefined when it follows. */
export function breakBetween(before: AuditHead | undefined, record: AuditRecord): string | undefined {
  const { sequence, previous } = record;
  if (before === undefined) {
    return sequence === 1 || record['begins'] === true
      ? undefined
      : `the log begins with record ${sequence}: what was before it is missing`;
  }
  if (sequence !== before.sequence + 1)
    return `record ${sequence} follows record ${before.sequence}: what was between them is missing`;
  return previous === before.hash
    ? undefined
    : `record ${sequence} does not follow the record ${before.sequence} before it`;
}

/** JSON with the keys of objects in order, so that equal values are equal texts. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
}

/** Stands for a text that may carry a secret, such as the URL that names a group: equal texts have equal stands. */
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
  const texts = [time, store, previous, hash, type];
  return Number.isInteger(sequence) && Number.isInteger(epoch) && texts.every((text) => typeof text === 'string');
}
