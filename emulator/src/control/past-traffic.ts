/**
 * Generates a month of traffic as if the service had run all the time. The statistics cover all of it. The messages of
 * the last minutes exist with their log entries, so that logs and statistics agree. Some of the messages that failed
 * earlier are in the dead letter queues.
 */
import type { Random } from '#foundation/platform/random.ts';
import type { AccountState } from '../state/account-state.ts';
import { defaultBackoff } from '../delivery/backoff.ts';
import { createMessage } from '../delivery/new-message.ts';
import type { Fact } from '../statistics/facts.ts';
import { replayHistory, type History } from './history.ts';
import { randomId } from '../state/ids.ts';
import type { LogEntry } from '../state/log.ts';
import type { Delivery, Message, Outcome, State } from '../state/message.ts';
import { MINUTE_MS } from '../statistics/point-time.ts';
import type { Statistics } from '../statistics/statistics.ts';

export interface PastTrafficOptions {
  readonly state: AccountState;
  readonly statistics: Statistics;
  readonly random: Random;
  /** Epoch milliseconds. */
  readonly now: number;
  /** At most 31. */
  readonly days: number;
  /** Length of the last part that has messages and log entries. */
  readonly logMinutes: number;
  /** Maximum number of older failures in each dead letter queue. */
  readonly deadLetters: number;
}

export interface PastTraffic extends History {
  readonly logEntries: number;
  readonly deadLetters: number;
}

type Entry = Omit<LogEntry, 'sequence'>;

const PLACES = ['orders', 'invoices', 'shipments', 'newsletters'];

export function replayPastTraffic(options: PastTrafficOptions): PastTraffic {
  const { state, statistics, random, now } = options;
  const from = Math.floor(now / MINUTE_MS) * MINUTE_MS - options.logMinutes * MINUTE_MS;
  const failures: { readonly at: number; readonly workflow: boolean }[] = [];
  const entries: Entry[] = [];
  const failed: { readonly message: Message; readonly at: number }[] = [];
  const ended = (message: Message, moment: number): void => void failed.push({ message, at: moment });
  const past = new PastMessages({ state, random, entries, onFailed: ended });

  const history = replayHistory({
    statistics: {
      record(accountId, fact, times = 1) {
        statistics.record(accountId, fact, times);
        if (fact.at >= from) past.take(fact, times);
        else if (isFailure(fact)) {
          for (let count = Math.min(times, options.deadLetters); count > 0; count--) {
            failures.push({ at: fact.at + Math.floor(random() * MINUTE_MS), workflow: fact.workflow });
          }
        }
      },
    },
    accountId: state.accountId,
    random,
    now,
    days: options.days,
  });
  past.finish();

  const older = [true, false].flatMap((workflow) =>
    failures.filter((failure) => failure.workflow === workflow).slice(-options.deadLetters),
  );
  for (const { at, workflow } of older) {
    const message = past.message(workflow, at - 60_000);
    Object.assign(message, { state: 'FAILED', attempts: 3, lastOutcome: FAILED } satisfies Partial<Message>);
    failed.push({ message, at });
  }
  failed.sort((a, b) => a.at - b.at);
  for (const { message, at } of failed) {
    const queue = message.workflow === undefined ? state.dlq : state.workflowDlq;
    message.dlqId = queue.add(message, at).dlqId;
  }
  entries.sort((a, b) => a.time - b.time);
  for (const entry of entries) state.log.append(entry);
  return { ...history, logEntries: entries.length, deadLetters: failed.length };
}

function isFailure(fact: Fact): boolean {
  return fact.kind === 'attempt' && fact.outcome === 'failed';
}

const DELIVERED: Outcome = { delivered: true, status: 200, headers: {}, body: new Uint8Array() };
const FAILED: Outcome = {
  delivered: false,
  status: 503,
  headers: {},
  body: new Uint8Array(),
  error: 'destination answered 503',
};

interface PastMessagesOptions {
  readonly state: AccountState;
  readonly random: Random;
  readonly entries: Entry[];
  readonly onFailed: (message: Message, at: number) => void;
}

/**
 * Builds messages from facts. All messages of a stretch and type start together, and end in the order of their
 * attempts.
 */
class PastMessages {
  readonly #options: PastMessagesOptions;
  readonly #deliveries: readonly Delivery[];
  #open: Message[] = [];

  constructor(options: PastMessagesOptions) {
    this.#options = options;
    this.#deliveries = PLACES.map((place) => ({
      method: 'POST',
      body: Buffer.from(JSON.stringify({ kind: place })),
      headers: [['Content-Type', 'application/json']],
      timeoutMs: 30_000,
      maxRetries: 2,
      labels: [place],
      callerIp: '192.0.2.10',
    }));
  }

  take(fact: Fact, times: number): void {
    if (fact.kind === 'created') {
      this.finish();
      for (let count = 0; count < times; count++) this.#create(fact.at, fact.workflow);
      return;
    }
    const begun = this.#open.splice(0, fact.kind === 'attempt' && fact.outcome === 'retry' ? 0 : times);
    for (const message of begun) {
      if (fact.kind === 'canceled') this.#log(message, 'CANCELLED');
      else if (fact.outcome === 'delivered') this.#end(message, 'DELIVERED', DELIVERED);
      else this.#end(message, 'FAILED', FAILED);
    }
    if (fact.kind === 'attempt' && fact.outcome === 'retry') for (const message of this.#open) this.#retry(message);
  }

  /** Drops the open messages: no more facts follow. */
  finish(): void {
    this.#open = [];
  }

  message(workflow: boolean, createdAt: number): Message {
    const { state, random } = this.#options;
    const which = Math.floor(random() * PLACES.length);
    const run = workflow && { runId: randomId('wfr_', random), createdAt, isNew: true };
    return createMessage(
      {
        url: `https://shop.example/${workflow ? 'flows' : 'hooks'}/${PLACES[which]}`,
        delivery: this.#deliveries[which]!,
        ...(run && { workflow: run }),
      },
      { accountId: state.accountId, now: createdAt, random },
    );
  }

  #create(minute: number, workflow: boolean): void {
    // Early in the minute, so that the outcome falls into the same minute.
    const createdAt = minute + Math.floor(this.#options.random() * 20_000);
    const message = this.message(workflow, createdAt);
    this.#options.state.messages.set(message.id, message);
    this.#open.push(message);
    this.#log(message, 'CREATED');
  }

  #retry(message: Message): void {
    this.#attempt(message);
    const nextDeliveryTime = this.#timeOf(message) + Math.min(defaultBackoff(1), 12_000);
    this.#log(message, 'ERROR', { outcome: FAILED, nextDeliveryTime });
    this.#log(message, 'RETRY', { nextDeliveryTime });
  }

  #end(message: Message, state: 'DELIVERED' | 'FAILED', outcome: Outcome): void {
    this.#attempt(message);
    message.lastOutcome = outcome;
    if (state === 'FAILED') this.#log(message, 'ERROR', { outcome });
    this.#log(message, state, { outcome });
    if (state === 'FAILED') this.#options.onFailed(message, this.#timeOf(message));
  }

  #attempt(message: Message): void {
    message.attempts++;
    this.#log(message, 'ACTIVE');
  }

  #log(message: Message, state: State, told: Partial<Pick<Entry, 'outcome' | 'nextDeliveryTime'>> = {}): void {
    message.state = state;
    const { outcome, nextDeliveryTime } = told;
    this.#options.entries.push({ time: this.#timeOf(message), state, message, outcome, nextDeliveryTime });
  }

  /** Returns the time of an attempt. Attempts follow the default backoff, and a response takes some milliseconds. */
  #timeOf({ createdAt, attempts, state }: Message): number {
    const begun = createdAt + Math.max(0, attempts - 1) * defaultBackoff(1);
    return state === 'CREATED' || state === 'ACTIVE' ? begun : begun + 35;
  }
}
