/** One message or workflow run by its id: read from the log and the workflow DLQ, joined with the ledger. */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import { concerns, type Deploy } from '#foundation/domain/deploy.ts';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { messageFromLog, type MessageFacts } from '#observe/tracing/log-trace.ts';
import { workflowTraceIdOf } from '#observe/tracing/trace-ids.ts';
import { entriesOfRun, failedRunById } from '#service/failed-run.ts';
import { readerOf } from '#service/message-log.ts';
import type { ActionRecord } from '#automate/ledger/intents.ts';
import type { MessageDetail, MessageView, WorkflowRunView } from '../contract/messages.ts';
import { HttpError } from '../http/reply.ts';
import type { ApiDeps } from './api-deps.ts';
import { ReadLimitError, type LogApi } from './live-reads.ts';
import { ledgerEvents, messageView, ordered } from './message-timeline.ts';

export type MessageDetailDeps = Pick<ApiDeps, 'clock' | 'board' | 'ledger' | 'liveReads'>;

/** Maximum number of requests for one id in one account. */
const MOST_REQUESTS = 30;
/** Maximum number of messages of a run. */
const MOST_MESSAGES = 100;
/** Clock skew between the entries of a run and its failure. */
const MARGIN_MS = 600_000;

/**
 * @param accounts accounts to search, in order
 * @returns undefined if no account has the id
 * @throws {HttpError} if an account could not be read and none of the others has the id
 */
export async function readMessage(
  deps: MessageDetailDeps,
  accounts: readonly string[],
  id: string,
  signal: AbortSignal,
): Promise<MessageDetail | undefined> {
  let failure: HttpError | undefined;
  for (const account of accounts) {
    try {
      const found = await new Lookup(deps, account, signal).find(id);
      if (found !== undefined) return { at: deps.clock.now(), account, ...found };
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  return undefined;
}

type Found = { readonly message: MessageView } | { readonly run: WorkflowRunView };

/** Lookup of one id in one account. */
class Lookup {
  readonly #deps: MessageDetailDeps;
  readonly #account: string;
  readonly #signal: AbortSignal;

  constructor(deps: MessageDetailDeps, account: string, signal: AbortSignal) {
    this.#deps = deps;
    this.#account = account;
    this.#signal = signal;
  }

  find(id: string): Promise<Found | undefined> {
    const { board, ledger, liveReads } = this.#deps;
    const rows = board.latest(this.#account, 'workflowDlq')?.rows ?? [];
    const listed = rows.filter(({ dlqId, workflowRunId }) => dlqId === id || workflowRunId === id);
    const known = listed.toSorted((a, b) => a.createdAt - b.createdAt).at(-1);
    return liveReads.read(this.#account, MOST_REQUESTS, async (api) => {
      if (known !== undefined) return { run: await this.#run(api, known.workflowRunId, known) };
      const isRetrigger = (await ledger.retriggers(this.#account, id)).some((one) => one.workflowRunId === id);
      const message = isRetrigger ? undefined : await this.#message(api, id);
      if (message !== undefined) return { message };
      const entry = await failedRunById(api, id, this.#signal);
      const acted = await this.#actionsOn([id]);
      const isRun = isRetrigger || acted.some((action) => action.newRunId === id || runOf(action) === id);
      return entry !== undefined || isRun ? { run: await this.#run(api, id, entry) } : undefined;
    });
  }

  async #message(api: LogApi, id: string): Promise<MessageView | undefined> {
    const deadLetter = await this.#deadLetter(id);
    const messageId = deadLetter?.messageId ?? id;
    const facts = await this.#factsOf(api, messageId);
    if (facts === undefined && deadLetter === undefined) return undefined;
    const ids = [messageId, deadLetter?.dlqId, facts?.message.workflowRunId];
    const url = facts?.entries.find((entry) => entry.url !== undefined)?.url ?? deadLetter?.url;
    const from = facts?.message.createdAt ?? deadLetter?.createdAt;
    const [actions, deploys] = [await this.#actionsOn(ids), await this.#deploysOf(url, from)];
    return messageView(this.#account, messageId, facts, { deadLetter, actions, deploys });
  }

  async #factsOf(api: LogApi, messageId: string): Promise<MessageFacts | undefined> {
    try {
      return await messageFromLog(this.#account, readerOf(api, messageId, this.#signal));
    } catch (error) {
      if (this.#signal.aborted || !(error instanceof Error) || error.name !== 'Error') throw error;
      const message = `The log of account ${this.#account} cannot be used: ${error.message}.`;
      throw new HttpError(502, 'service_error', message);
    }
  }

  async #deadLetter(id: string): Promise<DeadLetter | undefined> {
    const deadLetters = await this.#deps.ledger.deadLetters(this.#account);
    return deadLetters.find(({ dlqId, messageId }) => dlqId === id || messageId === id);
  }

  /** Actions on any of the ids, oldest first. */
  async #actionsOn(ids: readonly (string | undefined)[]): Promise<readonly ActionRecord[]> {
    const named = ids.filter((id) => id !== undefined);
    return (await this.#deps.ledger.actionsOn(this.#account, named)).toReversed();
  }

  /** Deploys of what is behind a URL, since a time. */
  async #deploysOf(url: string | undefined, from: number | undefined): Promise<readonly Deploy[]> {
    if (url === undefined || from === undefined) return [];
    const deploys = await this.#deps.ledger.deploys([this.#account], from);
    return deploys.filter((deploy) => concerns(deploy, url));
  }

  async #run(api: LogApi, workflowRunId: string, entry: WorkflowDlqEntry | undefined): Promise<WorkflowRunView> {
    const account = this.#account;
    const actions = await this.#actionsOn([workflowRunId, entry?.dlqId]);
    const begun = actions.find(({ newRunId }) => newRunId === workflowRunId);
    const retriggers = await this.#deps.ledger.retriggers(account, workflowRunId);
    const retrigger = retriggers.find((one) => one.workflowRunId === workflowRunId);
    const urls = [entry?.workflowUrl, retrigger?.workflowUrl, ...actions.map(urlOf)];
    const workflowUrl = urls.find((url) => url !== undefined);
    const from = entry?.workflowCreatedAt ?? begun?.at ?? (retrigger && retrigger.at - MARGIN_MS);
    const to = entry && entry.createdAt + MARGIN_MS;
    const dates = { ...(from !== undefined && { fromDate: from }), ...(to !== undefined && { toDate: to }) };
    const query = workflowUrl === undefined ? undefined : { url: workflowUrl, ...dates };
    const { messages, unknown, isCut } = await this.#messages(api, workflowRunId, query);
    const resumedFrom = (await this.#deps.ledger.resumedFrom(account, [workflowRunId])).get(workflowRunId);
    const { dlqId, labels = [], responseStatus, flowControlKey, failureFunctionState } = entry ?? {};
    const [createdAt, failedAt] = [entry?.workflowCreatedAt, entry?.createdAt];
    return {
      account,
      workflowRunId,
      traceId: workflowTraceIdOf(account, workflowRunId),
      workflowUrl,
      dlqId,
      labels,
      responseStatus,
      flowControlKey,
      failureFunctionState,
      createdAt,
      failedAt,
      resumedFrom,
      resumedAs: actions.flatMap((action) => resumeOf(action, workflowRunId)),
      messages,
      isCut,
      timeline: ordered([
        ...(createdAt === undefined ? [] : [{ at: createdAt, kind: 'created' as const }]),
        ...(failedAt === undefined ? [] : [{ at: failedAt, kind: 'ended' as const, outcome: 'failed' }]),
        ...ledgerEvents({ actions, deploys: await this.#deploysOf(workflowUrl, from) }),
      ]),
      unknown: [
        ...(entry === undefined ? ['The run is not in the workflow DLQ: its state is unknown.'] : []),
        ...(createdAt === undefined ? ['The time of the run’s creation is unknown.'] : []),
        ...unknown,
      ],
    };
  }

  /** Reads the messages of a run until the read may send no more requests. */
  async #messages(api: LogApi, workflowRunId: string, query: Parameters<typeof entriesOfRun>[1] | undefined) {
    if (query === undefined)
      return { messages: [], unknown: ['The workflow’s URL is unknown, so its messages are too.'] };
    const groups = new Map<string, LogEntry[]>();
    const unknown: string[] = [];
    let isCut = false;
    try {
      for await (const row of entriesOfRun(api, query, workflowRunId, this.#signal)) {
        const group = groups.get(row.messageId);
        if (group !== undefined) group.push(row);
        else groups.set(row.messageId, [row]);
      }
    } catch (error) {
      if (!(error instanceof ReadLimitError)) throw error;
      isCut = true;
      unknown.push(`Not all messages of the run were read: ${error.message}.`);
    }
    const all = [...groups.values()].toSorted((a, b) => startOf(a) - startOf(b));
    if (all.length > MOST_MESSAGES)
      unknown.push(`${all.length - MOST_MESSAGES} more messages of the run are left out.`);
    if (all.flat().some(({ state }) => state === undefined)) {
      unknown.push('The log’s entries have no state: show a message by its id for its attempts.');
    }
    const messages = await Array.fromAsync(all.slice(0, MOST_MESSAGES), (entries) => this.#messageOf(entries));
    return { messages, unknown, isCut: isCut || all.length > MOST_MESSAGES || undefined };
  }

  async #messageOf(entries: readonly LogEntry[]): Promise<MessageView> {
    const { messageId } = entries[0]!;
    const isStated = entries.every(({ state }) => state !== undefined);
    const facts = isStated ? await messageFromLog(this.#account, () => Promise.resolve(entries)) : undefined;
    const view = messageView(this.#account, messageId, facts, { actions: [] });
    return facts === undefined ? { ...view, unknown: ['The log’s entries have no state.'] } : view;
  }
}

function startOf(entries: readonly LogEntry[]): number {
  return Math.min(...entries.map(({ time }) => time));
}

function runOf({ proposal }: ActionRecord): string | undefined {
  return 'workflowRunId' in proposal ? proposal.workflowRunId : undefined;
}

function urlOf({ proposal }: ActionRecord): string | undefined {
  return 'workflowUrl' in proposal ? proposal.workflowUrl : undefined;
}

function resumeOf(action: ActionRecord, workflowRunId: string): WorkflowRunView['resumedAs'] {
  const { newRunId, at, outcome = 'pending' } = action;
  if (newRunId === undefined || runOf(action) !== workflowRunId) return [];
  return [{ workflowRunId: newRunId, at, outcome }];
}
