/** Audit log: its search, and the verification of its chain. */
import type { AuditRecord, AuditValue } from '#automate/ledger/audit-log.ts';
import type { AuditQuery } from '#automate/ledger/audit-reading.ts';
import type { AuditRecordView, AuditVerification, AuditView } from '../contract/audit.ts';
import type { ApiDeps } from './api-deps.ts';

/** @throws as `AuditReader.search` does */
export async function queryAudit(
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
    policy,
    account,
    by: textOf(by),
    reason: textOf(reason),
    hash,
    details: Object.fromEntries(
      Object.entries(rest).filter((entry): entry is [string, AuditValue] => entry[1] !== undefined),
    ),
  };
}

function textOf(value: AuditValue | undefined): string | undefined {
  return value === undefined || value === null ? undefined : String(value);
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
