/** Lines of the audit log that a search wants, wherever the log is stored. */
import { parseAuditRecord } from './audit-chain.ts';
import type { AuditRecord } from './audit-log.ts';
import type { AuditQuery } from './audit-reading.ts';

/** Records this much older than `since` end the search: the clock may have been set back between two records. */
export const SINCE_MARGIN_MS = 86_400_000;

type Found = AuditRecord | 'damaged' | 'end' | undefined;

/** Returns a function that says whether a line of the log matches. `end` ends a search of newer to older lines. */
export function matcherOf({ type, policy, account, by, since, text }: AuditQuery): (line: string) => Found {
  const needle = text?.toLowerCase();
  // Each is part of a matching line, whose JSON is canonical. Most lines need no parsing.
  const exact = Object.entries({ policy, account, by }).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  );
  const parts = [
    ...exact.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`),
    ...(type === undefined ? [] : [`"type":${JSON.stringify(type).slice(0, -1)}`]),
  ];
  const oldest = since === undefined ? '' : new Date(Math.max(0, since - SINCE_MARGIN_MS)).toISOString();
  return (line) => {
    if (since !== undefined && timeOf(line) < oldest) return 'end';
    if (!parts.every((part) => line.includes(part))) return undefined;
    if (needle !== undefined && !line.toLowerCase().includes(JSON.stringify(needle).slice(1, -1))) return undefined;
    const record = parseAuditRecord(line);
    if (typeof record === 'string') return 'damaged';
    const isWanted =
      exact.every(([key, value]) => record[key] === value) &&
      (type === undefined || record.type === type || record.type.startsWith(`${type}.`)) &&
      (since === undefined || Date.parse(record.time) >= since) &&
      (needle === undefined || says(record, needle));
    return isWanted ? record : undefined;
  };
}

/** Time of a line; a late one if it has none, so that a damaged line does not end a search. */
function timeOf(line: string): string {
  return /"time":"([^"]{24})"/.exec(line)?.[1] ?? '~';
}

/** Fields about the position in the log. A text search skips them. */
const PLACE: readonly string[] = ['sequence', 'time', 'store', 'opening', 'previous', 'hash'];

function says(record: AuditRecord, needle: string): boolean {
  return Object.entries(record).some(([key, value]) => !PLACE.includes(key) && textOf(value).includes(needle));
}

function textOf(value: unknown): string {
  return (typeof value === 'string' ? value : JSON.stringify(value ?? null)).toLowerCase();
}
