/** Audit log: its search, and the verification of its chain. */
import type { AuditRecord, AuditValue, AuditVerdict } from '#automate/ledger/audit-log.ts';
import type { AuditQuery } from '#automate/ledger/audit-reading.ts';
import type { ApiDeps } from './api-deps.ts';

/** One record: `/api/v1/audit`, newest first. */
export interface AuditRecordView {
  readonly sequence: number;
  readonly at: number;
  readonly type: string;
  readonly policy?: string;
  readonly account?: string;
  /** Operator who caused it; absent for the daemon's own records. */
  readonly by?: string;
  readonly reason?: string;
  /** Hash of the record, which the next record contains. */
  readonly hash: string;
  /** Other fields of the record. */
  readonly details: Readonly<Record<string, AuditValue>>;
}

export interface AuditView {
  readonly at: number;
  readonly records: readonly AuditRecordView[];
  /** Continues the search; absent at its end. A page may be empty and have a cursor. */
  readonly cursor?: string;
  /** Number of lines of this page that match and are damaged. `/api/v1/audit/verify` finds the first one. */
  readonly damaged: number;
}

/** Result of a verification: `/api/v1/audit/verify`. */
export interface AuditVerification extends AuditVerdict {
  /** Time of its end. */
  readonly at: number;
  readonly isIntact: boolean;
  readonly tookMs: number;
}

/** @throws as `AuditReader.search` does */
export async function readAudit(
  { clock, audit }: Pick<ApiDeps, 'clock' | 'audit'>,
  query: AuditQuery,
  signal: AbortSignal,
): Promise<AuditView> {
  const { records, ...page } = await audit.search(query, signal);
  return { at: clock.now(), records: records.map(recordView), ...page };
}

function recordView(record: AuditRecord): AuditRecordView {
  const { sequence, time, type, policy, account, by, reason, hash, previous: _, store: _store, ...rest } = record;
  return {
    sequence,
    at: Date.parse(time),
    type,
    ...(policy !== undefined && { policy }),
    ...(account !== undefined && { account }),
    ...(by !== undefined && by !== null && { by: String(by) }),
    ...(reason !== undefined && reason !== null && { reason: String(reason) }),
    hash,
    details: Object.fromEntries(
      Object.entries(rest).filter((entry): entry is [string, AuditValue] => entry[1] !== undefined),
    ),
  };
}

const underWay = new WeakMap<ApiDeps['audit'], Promise<AuditVerification>>();

/** Verifies the chain. Only one verification runs at a time; callers during a verification share its result. */
export function verifyAuditLog({ clock, audit }: Pick<ApiDeps, 'clock' | 'audit'>): Promise<AuditVerification> {
  const running = underWay.get(audit);
  if (running !== undefined) return running;
  const from = clock.monotonic();
  const verified = audit
    .verify()
    .then((verdict) => ({
      at: clock.now(),
      // Neither intact nor changed: the end of the last record is missing.
      isIntact: verdict.finding === undefined && !verdict.isTorn,
      tookMs: clock.monotonic() - from,
      ...verdict,
    }))
    .finally(() => underWay.delete(audit));
  underWay.set(audit, verified);
  return verified;
}
