/** Actions of the engine on the service. The engine has no other access to the service. */
import type { FailureCallback, LogQuery, ServiceClient, WorkflowDlqFilter } from '#service/api.ts';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import type { Proposal } from '#foundation/domain/plan.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { ActionRequest, ActResult } from './action.ts';
import { failedCall, refusedUnsent } from './failed-call.ts';
import { impossible } from './impossible.ts';
import { describeRequest, sendAction, type ActionPlace } from './requests.ts';
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
  /** Returns the entries of the first page of the log that meet the query; a text if it cannot be read. Never rejects. */
  readLog(account: string, query: EntryQuery, signal: AbortSignal): Promise<readonly LogEntry[] | string>;
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
  /** Kept bodies of dead letters. Without them, no message is published again. */
  readonly bodies?: ActionPlace['bodies'];
  /** Places where the service reports failures to this daemon, by account. */
  readonly failureCallbacks?: ReadonlyMap<string, () => FailureCallback>;
  /** Maximum number of pages of 100 entries in one listing. */
  readonly maxPages?: number;
}

type EntryQuery = Pick<LogQuery, 'messageId' | 'scheduleId' | 'state' | 'label' | 'fromDate'>;

const MAX_PAGES = 2_000;

export function createActions(clients: ReadonlyMap<string, ServiceClient>, deps: ActionsDeps): Actions {
  const options = { clock: deps.clock, maxPages: deps.maxPages ?? MAX_PAGES };
  return {
    accounts: [...clients.keys()],
    list: (account, filter, signal) => listWorkflowDlq(clients.get(account), filter, signal, options),
    hear: (account, signal) => hear(clients.get(account), { accountId: deps.accountIds.get(account), signal }),
    readLog: (account, query, signal) => readLog(clients.get(account), query, signal),
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
        const { account } = request;
        return await sendAction(request, clients.get(account), {
          accountId: deps.accountIds.get(account),
          bodies: deps.bodies,
          failureCallback: deps.failureCallbacks?.get(account),
        });
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

async function readLog(
  client: ServiceClient | undefined,
  query: EntryQuery,
  signal: AbortSignal,
): Promise<readonly LogEntry[] | string> {
  const { fromDate: _from, label, ...exact } = query;
  // The service may ignore a filter.
  const isMeant = (entry: LogEntry): boolean =>
    Object.entries(exact).every(([name, value]) => entry[name as keyof typeof exact] === value) &&
    (label === undefined || entry.labels.some((one) => label.includes(one)));
  try {
    if (client?.message === undefined) throw new Error('the account has no message API');
    const { value, cursor } = await client.message.listLogs({ count: 100, ...query }, { signal });
    const entries = value.filter(isMeant);
    // A service that ignores the filter has the entry on another page.
    return entries.length === 0 && cursor !== undefined ? 'the log has more pages than one' : entries;
  } catch (error) {
    return errorMessage(error);
  }
}
