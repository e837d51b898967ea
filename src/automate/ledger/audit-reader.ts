/** Reader of the audit log's files, for the daemon and for commands. */
import { createReadStream, readdirSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { AuditRecord, AuditVerdict } from './audit-log.ts';
import { breakBetween, cutOff, differenceFrom, parseAuditRecord } from './audit-chain.ts';
import type { SeenRecords } from './audit-reading.ts';

/** Path of a store's audit log. */
export function auditPathOf(storePath: string): string {
  return `${storePath}.audit.jsonl`;
}

const SEQUENCE_DIGITS = 12;

/** Path of a segment: a full file with the records up to `last`, which never changes again. */
export function segmentPathOf(path: string, last: number): string {
  return `${path.replace(/\.jsonl$/, '')}.${String(last).padStart(SEQUENCE_DIGITS, '0')}.jsonl`;
}

/** Returns the segments of an audit log, oldest first. */
export function segmentsOf(path: string): readonly string[] {
  const start = basename(segmentPathOf(path, 0)).slice(0, -`${'0'.repeat(SEQUENCE_DIGITS)}.jsonl`.length);
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(start) && /^\d{12,}\.jsonl$/.test(name.slice(start.length)))
    .toSorted((one, other) => one.length - other.length || (one < other ? -1 : 1))
    .map((name) => join(dirname(path), name));
}

interface Line {
  readonly file: string;
  /** Counted from 1, in its file. */
  readonly number: number;
  readonly text: string;
  /** True if the line has its end. */
  readonly isWhole: boolean;
}

/**
 * Lines of the segments and of the active file. The active file is opened before the segments are listed: if it becomes
 * a segment in between, it is still read once.
 *
 * @throws if no file exists, or one cannot be read
 */
async function* readLines(path: string): AsyncGenerator<Line> {
  const opened = await open(path).catch((error: NodeJS.ErrnoException) => error);
  try {
    const active = opened instanceof Error ? undefined : await opened.stat();
    const segments = segmentsOf(path).filter((segment) => statSync(segment).ino !== active?.ino);
    if (opened instanceof Error && (opened.code !== 'ENOENT' || segments.length === 0)) throw opened;
    for (const segment of segments) yield* linesOf(segment, createReadStream(segment, READING));
    if (!(opened instanceof Error)) yield* linesOf(path, opened.createReadStream({ ...READING, autoClose: false }));
  } finally {
    if (!(opened instanceof Error)) await opened.close();
  }
}

const READING = { encoding: 'utf8', highWaterMark: 1_048_576 } as const;

async function* linesOf(file: string, chunks: AsyncIterable<unknown>): AsyncGenerator<Line> {
  let rest = '';
  let number = 0;
  for await (const chunk of chunks) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop()!;
    for (const text of lines) yield { file, number: ++number, text, isWhole: true };
  }
  if (rest !== '') yield { file, number: number + 1, text: rest, isWhole: false };
}

/** Records in order. Invalid lines are skipped; `verifyAudit` reports them. */
export async function* readAudit(path: string): AsyncGenerator<AuditRecord> {
  for await (const { text, isWhole } of readLines(path)) {
    const record = isWhole ? parseAuditRecord(text) : undefined;
    if (typeof record === 'object') yield record;
  }
}

/**
 * Verifies the chain from the first line to the last, through all segments.
 */
export async function verifyAudit(path: string, { known, after }: SeenRecords = {}): Promise<AuditVerdict> {
  let head = after;
  let records = 0;
  let isTorn = false;
  let last: Pick<Line, 'file' | 'number'> = { file: path, number: 0 };
  const verdict = (finding?: AuditVerdict['finding']): AuditVerdict => ({
    records,
    isTorn,
    ...(head !== undefined && { head }),
    ...(finding !== undefined && { finding }),
  });
  for await (const { file, number, text, isWhole } of readLines(path)) {
    isTorn = !isWhole && file === path;
    if (isTorn) break;
    last = { file, number };
    const record = parseAuditRecord(text);
    if (typeof record === 'string') return verdict({ file, line: number, problem: record });
    const problem = breakBetween(head, record) ?? differenceFrom(known, record);
    if (problem !== undefined) return verdict({ file, line: number, problem });
    head = { sequence: record.sequence, hash: record.hash };
    records += 1;
  }
  const problem = cutOff(known, head);
  return verdict(problem === undefined ? undefined : { file: last.file, line: last.number + 1, problem });
}
