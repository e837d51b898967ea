/** Actions of the engine on the service. The engine has no other access to the service. */
import type { ServiceClient } from '#service/api.ts';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import type { Proposal } from '#foundation/domain/plan.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { isPrune, type ActionRequest, type ActResult } from './action.ts';
import { describeBudgetRaise, sendBudgetRaise } from './budget-raise.ts';
import { failedCall, refused } from './failed-call.ts';
import { findMessage } from './find-message.ts';
import { impossible } from './impossible.ts';
import { describeMessageDelete, sendMessageDelete } from './message-dlq-delete.ts';
import { describePrune, sendPrune } from './message-dlq-prune.ts';
import { archiveEntry, type ArchiveSettings } from './workflow-dlq-archive.ts';
import { describeWorkflowDelete, sendWorkflowDelete } from './workflow-dlq-delete.ts';
import { listWorkflowDlq, type Listing, type ListFilter } from './workflow-dlq-list.ts';
import { describeResume, sendResume } from './workflow-dlq-resume.ts';

export interface Actions {
  /** Names of the accounts that have a client. */
  readonly accounts: readonly string[];
  /**
   * Lists every entry of the workflow DLQ under a filter. Never rejects: a failed or aborted read is an incomplete
   * listing.
   */
  list(account: string, filter: ListFilter, signal: AbortSignal): Promise<Listing>;
  /** Sends one small read to get the service's time. Never rejects. */
  hear(account: string, signal: AbortSignal): Promise<void>;
  /**
   * Returns an entry of a message in the log: undefined if there is none, a text if the log cannot be read. Never
   * rejects.
   */
  findMessage(account: string, messageId: string, signal: AbortSignal): Promise<LogEntry | string | undefined>;
  /** Returns the request that `act` would send for a proposal. Sends nothing. */
  describe(proposal: Proposal, options: { readonly instance: string }): ActionRequest;
  /**
   * Prepares an action before its intent: archives an entry that will be deleted. Never rejects.
   *
   * @returns the reason why the action must not happen; undefined if it is prepared
   */
  prepare(
    proposal: Proposal,
    options: { readonly archive?: ArchiveSettings },
    signal: AbortSignal,
  ): Promise<string | undefined>;
  /**
   * Sends one request, which is never repeated. Never rejects. It cannot be aborted: a request in flight finishes
   * within the client's timeout, since its response matters.
   */
  act(request: ActionRequest): Promise<ActResult>;
}

export interface ActionsDeps {
  readonly clock: Clock;
  readonly events: EventBus;
  /** Ids in the management API of the accounts that have one, by name. */
  readonly accountIds: ReadonlyMap<string, string>;
  /** Maximum number of pages of 100 entries in one listing. */
  readonly maxPages?: number;
}

const MAX_PAGES = 2_000;

export function createActions(clients: ReadonlyMap<string, ServiceClient>, deps: ActionsDeps): Actions {
  const options = { clock: deps.clock, maxPages: deps.maxPages ?? MAX_PAGES };
  return {
    accounts: [...clients.keys()],
    list: (account, filter, signal) => listWorkflowDlq(clients.get(account), filter, signal, options),
    hear: (account, signal) => hear(clients.get(account), { accountId: deps.accountIds.get(account), signal }),
    findMessage: (account, messageId, signal) => findMessage(clients.get(account), messageId, signal),
    describe,
    async prepare(proposal, { archive }, signal) {
      if (proposal.action !== 'workflow-dlq.delete') return undefined;
      if (archive === undefined) return 'a delete needs an archive; set action.archive';
      return archiveEntry(clients.get(proposal.account), proposal, { archive, signal }, deps);
    },
    async act(request) {
      try {
        const wrong = impossible(request, deps.clock.now());
        if (wrong !== undefined) return refused(`${wrong}; nothing was sent`);
        return await send(request, clients.get(request.account), deps);
      } catch (error) {
        return failedCall(error);
      }
    },
  };
}

async function hear(
  client: ServiceClient | undefined,
  { accountId, signal }: { readonly accountId: string | undefined; readonly signal: AbortSignal },
): Promise<void> {
  try {
    if (client?.message !== undefined) await client.message.listWorkflowDlq({ count: 1 }, { signal });
    else if (accountId !== undefined) await client?.management?.getAccountStats(accountId, '1h', { signal });
  } catch {
    // The client has reported the failure. Without a response, the clock stays unchecked.
  }
}

function describe(proposal: Proposal, options: { readonly instance: string }): ActionRequest {
  switch (proposal.action) {
    case 'workflow-dlq.resume':
      return describeResume(proposal, options);
    case 'workflow-dlq.delete':
      return describeWorkflowDelete(proposal);
    case 'message-dlq.delete':
      return describeMessageDelete(proposal);
    case 'message-dlq.prune':
      return describePrune(proposal);
    case 'budget.raise':
      return describeBudgetRaise(proposal);
  }
}

async function send(request: ActionRequest, client: ServiceClient | undefined, deps: ActionsDeps): Promise<ActResult> {
  const { signal } = new AbortController();
  if (request.operation === 'update-budget') {
    if (client?.management === undefined) return refused(`account ${request.account} has no management API`);
    const accountId = deps.accountIds.get(request.account);
    if (accountId === undefined) return refused(`account ${request.account} has no managementApi.accountId`);
    return sendBudgetRaise(client, request, { accountId, signal });
  }
  if (client?.message === undefined) return refused(`account ${request.account} has no message API`);
  switch (request.operation) {
    case 'resume-workflow-dlq':
      return sendResume(client, request, signal);
    case 'delete-workflow-dlq':
      return sendWorkflowDelete(client, request, signal);
    case 'delete-dlq':
      return isPrune(request) ? sendPrune(client, request, signal) : sendMessageDelete(client, request, signal);
  }
}
