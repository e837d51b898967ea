/** Routes of the reading views: flow control, canaries, spend, the audit log, the configuration, and one policy. */
import { z } from 'zod';
import { unknownPolicy } from '#foundation/domain/unknown-policy.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { AuditCursorError } from '#automate/ledger/audit-reading.ts';
import { cursorParameter, limitParameter, pastOf, pastParameter, readQuery, textParameter } from '../http/query.ts';
import { HttpError, json, type Reply } from '../http/reply.ts';
import type { ApiContext, ApiRoute } from './api-deps.ts';
import { readAudit, verifyAuditLog, type AuditVerification, type AuditView } from './audit.ts';
import { readCanaries } from './canaries.ts';
import { readConfiguration } from './configuration.ts';
import { readFlowControl } from './flow-control.ts';
import { fromStore } from './from-store.ts';
import { knownAccount } from './known-account.ts';
import { readPolicyDetail, type PolicyDetail } from './policy-detail.ts';
import { readSpend } from './spend.ts';

export const READING_ROUTES: readonly ApiRoute[] = [
  { path: '/api/v1/flow-control', method: 'GET', handle: flowControl, query: () => accountQuery },
  { path: '/api/v1/canaries', method: 'GET', handle: canaries, query: () => accountQuery },
  { path: '/api/v1/spend', method: 'GET', handle: spend, query: () => accountQuery },
  { path: '/api/v1/audit', method: 'GET', handle: audit, query: () => auditQuery },
  { path: '/api/v1/audit/verify', method: 'GET', handle: auditVerify },
  { path: '/api/v1/configuration', method: 'GET', handle: configuration },
  { path: '/api/v1/policies/{id}', method: 'GET', handle: policy },
];

const accountQuery = z.strictObject({ account: textParameter('Only this account.') });

const auditQuery = z.strictObject({
  type: textParameter('Type of the records, or its first part: `run` finds `run.begun`.'),
  policy: textParameter('Only records of this policy.'),
  account: textParameter('Only records of this account.'),
  by: textParameter('Only records that this operator caused.'),
  since: pastParameter('Only records since this time'),
  q: textParameter('Text that a value of the record contains, regardless of case.'),
  limit: limitParameter({ standard: 50, max: 500 }),
  /** Sequence of a record, or file and offset. */
  cursor: cursorParameter(/^\d{1,20}(?:\.\d{1,15})?$/),
});

/** Part of a request that a view needs. */
type ViewRequest = Pick<ApiContext, 'deps' | 'query' | 'signal'>;

function flowControl({ deps, query }: ApiContext): Reply {
  return json(200, readFlowControl(deps, knownAccount(deps, readQuery(query, accountQuery).account)));
}

function canaries({ deps, query }: ApiContext): Reply {
  return json(200, readCanaries(deps, knownAccount(deps, readQuery(query, accountQuery).account)));
}

async function spend({ deps, query, signal }: ApiContext): Promise<Reply> {
  const account = knownAccount(deps, readQuery(query, accountQuery).account);
  return json(200, await fromStore(() => readSpend(deps, { account, signal })));
}

async function audit(context: ApiContext): Promise<Reply> {
  return json(200, await searchedAudit(context));
}

/** Searches the audit log with the parameters of a request. @throws {HttpError} 400, 503 */
export async function searchedAudit({ deps, query, signal }: ViewRequest): Promise<AuditView> {
  const { q, since, ...rest } = readQuery(query, auditQuery);
  const asked = {
    ...rest,
    ...(q !== undefined && { text: q }),
    ...(since !== undefined && { since: pastOf(since, deps.clock.now()) }),
  };
  return fromAudit(signal, () => readAudit(deps, asked, signal));
}

async function auditVerify(context: ApiContext): Promise<Reply> {
  return json(200, await verifiedAudit(context));
}

/** @throws {HttpError} 503 */
export function verifiedAudit(
  context: Pick<ApiContext, 'deps' | 'signal' | 'mayTakeLong'>,
): Promise<AuditVerification> {
  context.mayTakeLong();
  return fromAudit(context.signal, () => verifyAuditLog(context.deps));
}

async function fromAudit<T>(signal: AbortSignal, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof AuditCursorError) throw new HttpError(400, 'bad_request', `${error.message}.`);
    throw new HttpError(503, 'store_unavailable', `The audit log cannot be read: ${errorMessage(error)}`);
  }
}

function configuration({ deps }: ApiContext): Reply {
  return json(200, readConfiguration(deps));
}

async function policy(context: ApiContext): Promise<Reply> {
  return json(200, await requestedPolicy(context));
}

/** @throws {HttpError} 404, 503 */
export async function requestedPolicy({
  deps,
  id,
  signal,
}: Pick<ApiContext, 'deps' | 'id' | 'signal'>): Promise<PolicyDetail> {
  const found = await fromStore(() => readPolicyDetail(deps, id, signal));
  if ('policy' in found) return found;
  throw new HttpError(404, 'unknown_policy', unknownPolicy(id, found.known));
}
