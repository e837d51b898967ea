/** The audit log read from its file, by the daemon or by a command beside it. */
import { createReadStream } from 'node:fs';
import type { AuditHead, AuditRecord, AuditVerdict } from './audit-log.ts';
import { breakBetween, parseRecord } from './audit-chain.ts';

/** Where the audit log of a store is. */
export function auditPathOf(storePath: string): string {
  return `${storePath}.audit.jsonl`;
}

interface Line {
  /** Counted from 1. */
  readonly number: number;
  readonly text: string;
  /** Whether the line has its end. */
  readonly isWhole: boolean;
}

/** @throws when the file cannot be read */
async function* readLines(path: string): AsyncGenerator<Line> {
  let rest = '';
  let number = 0;
  for await (const chunk of createReadStream(path, { encoding: 'utf8', highWaterMark: 1_048_576 })) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop()!;
    for (const text of lines) yield { number: ++number, text, isWhole: true };
  }
  if (rest !== '') yield { number: number + 1, text: rest, isWhole: false };
}

/** Records in order; lines that are none are left out: `verifyAudit` names them. */
export async function* readAudit(path: string): AsyncGenerator<AuditRecord> {
  for await (const { text, isWhole } of readLines(path)) {
    const record = isWhole ? parseRecord(text) : undefined;
    if (typeof record === 'object') yield record;
  }
}

/**
 * Follows the chain from the first line to the last.
 *
 * @param known a head that was seen before: of the store, or of the daemon's log. It must still be there
 */
export async function verifyAudit(path: string, known?: AuditHead): Promise<AuditVerdict> {
  let head: AuditHead | undefined;
  let records = 0;
  let isTorn = false;
  const verdict = (line?: number, problem?: string): AuditVerdict => ({
    records,
    isTorn,
    ...(head !== undefined && { head }),
    ...(line !== undefined && problem !== undefined && { finding: { line, problem } }),
  });
  for await (const { number, text, isWhole } of readLines(path)) {
    isTorn = !isWhole;
    if (isTorn) break;
    const record = parseRecord(text);
    if (typeof record === 'string') return verdict(number, record);
    const problem = breakBetween(head, record) ?? missing(known, record);
    if (problem !== undefined) return verdict(number, problem);
    head = { sequence: record.sequence, hash: record.hash };
    records += 1;
  }
  if (known !== undefined && known.sequence > (head?.sequence ?? 0)) {
    const end = head === undefined ? 'the log is empty' : `the log ends with record ${head.sequence}`;
    return verdict(records + 1, `${end}, and record ${known.sequence} was there: its end was cut off`);
  }
  return verdict();
}

function missing(known: AuditHead | undefined, { sequence, hash }: AuditRecord): string | undefined {
  if (known?.sequence !== sequence || known.hash === hash) return undefined;
  return `record ${sequence} is not the one that was there: the log was written anew`;
}
