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
  /**
   * Returns an entry of a message in the log: undefined if there is none, a text if the log cannot be read. Never
   * rejects.
   */
  findMessage(account: string, messageId: string, signal: AbortSignal): Promise<LogEntry | string | undefined>;
  /**
   * Returns a message with the id or the label, and its end if the log shows one: undefined if the log has none, a text if
   * it cannot be read. Never rejects.
   */
  findEnd(
    account: string,
    message: { readonly messageId: string } | { readonly label: string; readonly fromDate: number },
    signal: AbortSignal,
  ): Promise<FoundMessage | string | undefined>;
  /** Returns the time of the last delivered message of a schedule, -Infinity if there is none. Never rejects. */
  lastDelivered(
    account: string,
    of: { readonly scheduleId: string; readonly fromDate: number },
    signal: AbortSignal,
  ): Promise<number | string>;
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

/** Message in the log. Without `end` it is not known to have ended. */
interface FoundMessage {
  readonly messageId: string;
  readonly end?: 'delivered' | 'failed';
}

const MAX_PAGES = 2_000;

export function createActions(clients: ReadonlyMap<string, ServiceClient>, deps: ActionsDeps): Actions {
  const options = { clock: deps.clock, maxPages: deps.maxPages ?? MAX_PAGES };
  return {
    accounts: [...clients.keys()],
    list: (account, filter, signal) => listWorkflowDlq(clients.get(account), filter, signal, options),
    hear: (account, signal) => hear(clients.get(account), { accountId: deps.accountIds.get(account), signal }),
    findMessage: (account, messageId, signal) => findMessage(clients.get(account), messageId, signal),
    findEnd: (account, message, signal) => findEnd(clients.get(account), message, signal),
    lastDelivered: (account, of, signal) => lastDelivered(clients.get(account), of, signal),
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

async function findMessage(
  client: ServiceClient | undefined,
  messageId: string,
  signal: AbortSignal,
): Promise<LogEntry | string | undefined> {
  // The service may ignore the filter.
  const entries = await logOf(client, { messageId }, (entry) => entry.messageId === messageId, signal);
  if (typeof entries === 'string') return entries;
  return entries?.find(({ workflowRunId }) => workflowRunId !== undefined) ?? entries?.[0];
}

async function findEnd(
  client: ServiceClient | undefined,
  of: { readonly messageId?: string; readonly label?: string; readonly fromDate?: number },
  signal: AbortSignal,
): Promise<FoundMessage | string | undefined> {
  const { messageId: id, label, ...dates } = of;
  const query = label === undefined ? { messageId: id } : { ...dates, label: [label] as const };
  const isMeant = ({ messageId, labels }: LogEntry): boolean => messageId === id || labels.some((one) => one === label);
  const entries = await logOf(client, query, isMeant, signal);
  if (typeof entries === 'string') return entries;
  const [first] = entries ?? [];
  if (first === undefined) return undefined;
  const has = (...states: readonly LogEntry['state'][]): boolean =>
    entries!.some(({ state }) => states.includes(state ?? 'CREATED'));
  const end = has('DELIVERED') ? 'delivered' : has('FAILED', 'CANCELLED') ? 'failed' : undefined;
  return { messageId: first.messageId, end };
}

async function lastDelivered(
  client: ServiceClient | undefined,
  of: { readonly scheduleId: string; readonly fromDate: number },
  signal: AbortSignal,
): Promise<number | string> {
  const isMeant = ({ scheduleId, state }: LogEntry): boolean => scheduleId === of.scheduleId && state === 'DELIVERED';
  const entries = await logOf(client, { ...of, state: 'DELIVERED' }, isMeant, signal);
  if (typeof entries === 'string') return 'the log of its schedule cannot be read';
  return Math.max(-Infinity, ...(entries ?? []).map(({ time }) => time));
}

/** Reads a page of the log. @returns the entries; undefined without a message API; a text if it cannot be read */
async function logOf(
  client: ServiceClient | undefined,
  query: LogQuery,
  isMeant: (entry: LogEntry) => boolean,
  signal: AbortSignal,
): Promise<readonly LogEntry[] | string | undefined> {
  if (client?.message === undefined) return undefined;
  try {
    const { value, cursor } = await client.message.listLogs({ count: 100, ...query }, { signal });
    const entries = value.filter(isMeant);
    // A service that ignores the filter has the entry on another page.
    return entries.length === 0 && cursor !== undefined ? 'the log has more pages than one' : entries;
  } catch (error) {
    return errorMessage(error);
  }
}
