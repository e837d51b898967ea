/** Actions of the engine on the service. The engine has no other access to the service. */
import type { ServiceClient, WorkflowDlqFilter } from '#service/api.ts';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import type { Proposal } from '#foundation/domain/plan.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { ActionRequest, ActResult } from './action.ts';
import { failedCall, refusedUnsent } from './failed-call.ts';
import { impossible } from './impossible.ts';
import { describeRequest, sendAction } from './requests.ts';
import { archiveEntry, type ArchiveSettings } from './workflow-dlq-archive.ts';
import { listWorkflowDlq, type WorkflowDlqListing } from './workflow-dlq-list.ts';

export interface Actions {
  /** Names of the accounts that have a client. */
  readonly accounts: readonly string[];
  /**
   * Lists every entry of the workflow DLQ under a filter. Never rejects: a failed or aborted read is an incomplete
   * listing.
   */
  list(account: string, filter: WorkflowDlqFilter, signal: AbortSignal): Promise<WorkflowDlqListing>;
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
    describe: describeRequest,
    async prepare(proposal, { archive }, signal) {
      if (proposal.action !== 'workflow-dlq.delete') return undefined;
      if (archive === undefined) return 'a delete needs an archive; set action.archive';
      return archiveEntry(clients.get(proposal.account), proposal, { archive, signal }, deps);
    },
    async act(request) {
      try {
        const wrong = impossible(request, deps.clock.now());
        if (wrong !== undefined) return refusedUnsent(`${wrong}; nothing was sent`);
        return await sendAction(request, clients.get(request.account), deps.accountIds.get(request.account));
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

async function findMessage(
  client: ServiceClient | undefined,
  messageId: string,
  signal: AbortSignal,
): Promise<LogEntry | string | undefined> {
  if (client?.message === undefined) return undefined;
  try {
    const { value } = await client.message.listLogs({ messageId, count: 100 }, { signal });
    // The service may ignore the filter.
    const entries = value.filter((entry) => entry.messageId === messageId);
    return entries.find(({ workflowRunId }) => workflowRunId !== undefined) ?? entries[0];
  } catch (error) {
    return errorMessage(error);
  }
}
