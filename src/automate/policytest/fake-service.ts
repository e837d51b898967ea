/**
 * Fake of the service, without a network. It lists the given entries, responds as the test says, and records every
 * request. The real actions make the requests, so forbidden requests end here as well.
 */
import { createActions, type Actions } from '../actions/index.ts';
import {
  isPrune,
  type ActionRequest,
  type ActResult,
  type RepublishRequest,
  type ResumeRequest,
} from '../actions/action.ts';
import { impossible } from '../actions/impossible.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { missedFilter } from '../guardrails/read-guards.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { ServiceAnswer } from './settings.ts';

interface Resumed {
  readonly entry: WorkflowDlqEntry;
  readonly request: ResumeRequest;
  readonly newRunId: string;
}

const PAGE = 100;

export class FakeService {
  readonly entries = new Map<string, WorkflowDlqEntry>();
  /** Responses to the next requests. */
  readonly answers: ServiceAnswer[] = [];
  /** Number of messages that prunes can delete; undefined: as many as each prune requests. */
  messages: number | undefined;
  readonly actions: Actions;
  readonly #clock: Clock;
  readonly #resumed = new Map<string, Resumed>();
  /** Labels of messages that were published again, by the dlqId of their dead letter, and the stamps of those that failed. */
  readonly #published = new Map<string, RepublishRequest['labels']>();
  readonly #failed = new Set<string>();
  #sent: ActionRequest[] = [];

  constructor(accounts: readonly string[], clock: Clock, events: EventBus) {
    this.#clock = clock;
    const real = createActions(new Map(), { clock, events, accountIds: new Map() });
    this.actions = {
      accounts,
      list: async (_account, filter) => {
        const entries = [...this.entries.values()].filter((entry) => missedFilter(entry, filter) === undefined);
        const pages = Math.max(1, Math.ceil(entries.length / PAGE));
        return { complete: true, entries, duplicates: 0, dropped: 0, pages, clockSkewMs: 0 };
      },
      hear: async () => undefined,
      readLog: async (_account, { label: labels }) => {
        const published = [...this.#published].filter(([, [stamp]]) => labels?.includes(stamp));
        return published.map(([dlqId]) => ({ messageId: againOf(dlqId), time: clock.now(), labels: labels! }));
      },
      describe: (proposal, options) => real.describe(proposal, options),
      // A test writes no files: the archive counts as written.
      prepare: async () => undefined,
      act: async (request) => this.#act(request),
    };
  }

  /** Returns the requests since the previous call. */
  takeSent(): readonly ActionRequest[] {
    const sent = this.#sent;
    this.#sent = [];
    return sent;
  }

  /** Makes the run that a resume started fail again. @returns the reason why this is impossible */
  failAgain(dlqId: string): string | undefined {
    const resumed = this.#resumed.get(dlqId);
    if (resumed === undefined) return `${dlqId} was not resumed, so it cannot fail again`;
    this.#resumed.delete(dlqId);
    const { entry, request, newRunId } = resumed;
    const again = `${dlqId}-again`;
    const labels = request.overrides.labels ?? [];
    this.entries.set(again, {
      ...entry,
      dlqId: again,
      workflowRunId: newRunId,
      createdAt: this.#clock.now(),
      labels,
    });
    return undefined;
  }

  /** Makes a message that was published again fail. @returns its labels; undefined if there is none */
  failMessage(dlqId: string): readonly string[] | undefined {
    const labels = this.#published.get(dlqId);
    if (labels !== undefined) this.#failed.add(labels[0]);
    return labels;
  }

  /** End of the message with a label. */
  endOf(label: string): 'delivered' | 'failed' | undefined {
    if (this.#failed.has(label)) return 'failed';
    return this.#published.values().some(([stamp]) => stamp === label) ? 'delivered' : undefined;
  }

  #act(request: ActionRequest): ActResult {
    const wrong = impossible(request, this.#clock.now());
    if (wrong !== undefined) return { outcome: 'rejected', detail: `${wrong}; nothing was sent` };
    this.#sent.push(request);
    const answer = this.answers.shift() ?? 'good';
    switch (answer) {
      case 'refused':
        return { outcome: 'rejected', code: 'client_error', detail: 'the service rejected it' };
      case 'rate_limited':
        return { outcome: 'rejected', code: 'rate_limited', detail: 'the service responded with 429' };
      case 'never_arrived':
        return { outcome: 'unknown', code: 'connection', detail: 'reset before a response' };
      case 'lost':
        this.#do(request);
        return { outcome: 'unknown', code: 'connection', detail: 'reset before a response' };
      case 'too_many': {
        const done = this.#do(request);
        return done.outcome === 'accepted' ? { ...done, done: done.done + 1 } : done;
      }
      case 'good':
        return this.#do(request);
    }
  }

  #do(request: ActionRequest): ActResult {
    if (request.operation === 'update-budget') return { outcome: 'accepted', done: 1 };
    if (isPrune(request)) {
      const done = Math.min(request.filter.count, this.messages ?? Infinity);
      if (this.messages !== undefined) this.messages -= done;
      return { outcome: 'accepted', done };
    }
    // Dead messages have only ids here.
    if (request.operation === 'delete-dlq') return { outcome: 'accepted', done: 1 };
    const [dlqId] = request.dlqIds;
    if (request.operation === 'publish') {
      this.#published.set(dlqId, request.labels);
      return { outcome: 'accepted', done: 1, newRunId: againOf(dlqId) };
    }
    const entry = this.entries.get(dlqId);
    if (entry === undefined) return { outcome: 'rejected', code: 'not_found', detail: 'no such entry' };
    this.entries.delete(dlqId);
    if (request.operation === 'delete-workflow-dlq') return { outcome: 'accepted', done: 1 };
    const newRunId = `${entry.workflowRunId}-resumed`;
    this.#resumed.set(dlqId, { entry, request, newRunId });
    return { outcome: 'accepted', done: 1, newRunId };
  }
}

/** Id of the message that an action publishes again, from the id of its dead letter. */
export function againOf(dlqId: string): string {
  return `msg-${dlqId}-again`;
}
