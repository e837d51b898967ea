/** Routes of the reading views: flow control, canaries, spend, the audit log, and one policy. */
import { unknownPolicy } from '#foundation/domain/suggest.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { AuditCursorError } from '#automate/ledger/audit-reading.ts';
import { getAudit, getAuditVerification, type AuditVerification, type AuditView } from '../contract/audit.ts';
import { getPolicy, type PolicyDetail } from '../contract/policies.ts';
import { getSpend, listCanaries, listFlowControl } from '../contract/readings.ts';
import { pastOf } from '../http/query.ts';
import { HttpError } from '../http/reply.ts';
import type { ApiContext, ApiRoute } from './api-deps.ts';
import { queryAudit, verifyAuditLog } from './audit.ts';
import { readCanaries } from './canaries.ts';
import { readFlowControl } from './flow-control.ts';
import { fromStore } from './from-store.ts';
import { historyRoute } from './history.ts';
import { implement, type Given } from './implement.ts';
import { knownAccount } from './known-account.ts';
import { readPolicyDetail } from './policy-detail.ts';
import { readSpend } from './spend.ts';

export const READING_ROUTES: readonly ApiRoute[] = [
  implement(listFlowControl, ({ deps, query }) => readFlowControl(deps, knownAccount(deps, query.account))),
  historyRoute,
  implement(listCanaries, ({ deps, query }) => readCanaries(deps, knownAccount(deps, query.account))),
  implement(getSpend, ({ deps, query, signal }) => {
    const account = knownAccount(deps, query.account);
    return fromStore(() => readSpend(deps, { account, signal }));
  }),
  implement(getAudit, searchedAudit),
  implement(getAuditVerification, verifiedAudit),
  implement(getPolicy, requestedPolicy),
];

/** Searches the audit log with the parameters of a request. @throws {HttpError} 400, 503 */
export async function searchedAudit({
  deps,
  query,
  signal,
}: Pick<Given<typeof getAudit>, 'deps' | 'query' | 'signal'>): Promise<AuditView> {
  const { q: text, since, ...rest } = query;
  const asked = { ...rest, text, since: since === undefined ? undefined : pastOf(since, deps.clock.now()) };
  return fromAudit(signal, () => queryAudit(deps, asked, signal));
}

/** @throws {HttpError} 503 */
export function verifiedAudit({ deps, signal }: Pick<ApiContext, 'deps' | 'signal'>): Promise<AuditVerification> {
  return fromAudit(signal, () => verifyAuditLog(deps));
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
