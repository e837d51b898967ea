/** What the engine can do to the service. It is the engine's only road there. */
import type { ServiceClient } from '../client/api.ts';
import type { Proposal } from '../domain/plan.ts';
import type { Clock } from '../platform/clock.ts';
import { listWorkflowDlq, type Listing } from './workflow-dlq-list.ts';
import { describeResume, sendResume, type ActResult, type ResumeRequest } from './workflow-dlq-resume.ts';

export interface Actions {
  /** Names of the accounts that can be acted on. */
  readonly accounts: readonly string[];
  /** Every entry under a filter. Never rejects: a failed or aborted read is an incomplete listing. */
  list(account: string, filter: ListFilter, signal: AbortSignal): Promise<Listing>;
  /** The request that `act` would send for a proposal. Sends nothing. */
  describe(proposal: Proposal, options: { readonly instance: string; readonly retries?: number }): ResumeRequest;
  /** One request, never repeated. Never rejects. */
  act(request: ResumeRequest): Promise<ActResult>;
}

type ListFilter = Parameters<typeof listWorkflowDlq>[1];

export interface ActionsDeps {
  readonly clock: Clock;
  /** Pages of 100 entries that one listing may read. */
  readonly maxPages?: number;
}

const MAX_PAGES = 2_000;

export function createActions(clients: ReadonlyMap<string, ServiceClient>, deps: ActionsDeps): Actions {
  const options = { clock: deps.clock, maxPages: deps.maxPages ?? MAX_PAGES };
  return {
    accounts: [...clients.keys()],
    list: (account, filter, signal) => listWorkflowDlq(clients.get(account), filter, signal, options),
    describe: describeResume,
    act: (request) => sendResume(clients.get(request.account), request),
  };
}
