/**
 * Creates failures as if they had occurred at the seeded time. The log has every attempt of a failure, the statistics
 * count them, and the dead letter is in its queue. No request is sent.
 */
import type { Random } from '#foundation/platform/random.ts';
import type { AccountState } from '../state/account-state.ts';
import { callbackBody, callbackDelivery, failureFunctionOf } from '../delivery/callbacks.ts';
import type { Seed, SeededRun } from './seed-body.ts';
import type { Engine } from '../delivery/engine.ts';
import { createMessage } from '../delivery/new-message.ts';
import type { Fact } from '../statistics/facts.ts';
import { randomId } from '../state/ids.ts';
import type { LogEntry } from '../state/log.ts';
import type { Delivery, Message, Outcome, State } from '../state/message.ts';
import type { Statistics } from '../statistics/statistics.ts';
import type { DeliveryHeaderNames } from '../delivery/wire-names.ts';

export interface SeedBed {
  readonly state: AccountState;
  readonly statistics: Pick<Statistics, 'record'>;
  readonly engine: Engine;
  readonly headerNames: DeliveryHeaderNames;
  readonly now: number;
  readonly random: Random;
}

const MAX_RETRIES = 3;
const IN_PROGRESS_MS = 3_600_000;
const ANSWERED: Outcome = { delivered: true, status: 200, headers: {}, body: new Uint8Array() };

/** @returns ids of the dead letters, then of the failed runs, in the given order */
export function plantFailures({ deadLetters = [], failedRuns = [] }: Seed, bed: SeedBed): readonly string[] {
  const each = (failure: SeededRun, workflow: boolean): readonly Planned[] =>
    Array.from({ length: failure.count ?? 1 }, () => ({ failure, workflow, at: bed.now - (failure.agoMs ?? 0) }));
  const planned = [
    ...deadLetters.flatMap((failure) => each(failure, false)),
    ...failedRuns.flatMap((failure) => each(failure, true)),
  ];
  const messages = new Map<Planned, Message>();
  // Log and queues need the order of the failures.
  for (const failure of planned.toSorted((a, b) => a.at - b.at)) messages.set(failure, plant(failure, bed));
  return planned.map((failure) => messages.get(failure)!.dlqId!);
}

interface Planned {
  readonly failure: SeededRun;
  readonly workflow: boolean;
  readonly at: number;
}

function plant({ failure, workflow, at }: Planned, bed: SeedBed): Message {
  const past = new Past(bed, at);
  const outcome = failedOutcome(failure);
  const message = past.begin({ url: failure.url, delivery: deliveryOf(failure), workflow });
  past.fail(message, outcome);
  const { failureFunctionState: end } = failure;
  if (end === undefined) return message;
  const call = failureFunctionOf(message, bed.headerNames)!;
  const delivery = callbackDelivery(call, message, callbackBody(message, outcome, message.dlqId));
  const tell = (notice: Message): void => {
    message.failureNotice = notice;
  };
  if (end === 'CALLBACK_INPROGRESS') {
    const notBefore = bed.now + IN_PROGRESS_MS;
    tell(bed.engine.submit(message.accountId, { url: call.url, delivery, notBefore }));
    return message;
  }
  const notice = past.begin({ url: call.url, delivery, workflow: false });
  tell(notice);
  if (end === 'CALLBACK_SUCCESS') past.deliver(notice, ANSWERED);
  else if (end === 'CALLBACK_FAIL') past.fail(notice, outcome);
  else past.cancel(notice);
  return message;
}

/** Writes a message's life at one past time, as the engine would have recorded it. */
class Past {
  readonly #bed: SeedBed;
  readonly #at: number;

  constructor(bed: SeedBed, at: number) {
    this.#bed = bed;
    this.#at = at;
  }

  begin(of: { readonly url: string; readonly delivery: Delivery; readonly workflow: boolean }): Message {
    const { state, random } = this.#bed;
    const at = this.#at;
    const { url, delivery } = of;
    const workflow = of.workflow && { runId: randomId('wfr_', random), createdAt: at, isNew: true };
    const message = createMessage(
      { url, delivery, ...(workflow && { workflow }) },
      { accountId: state.accountId, now: at, random },
    );
    state.messages.set(message.id, message);
    this.#enter(message, 'CREATED');
    this.#count({ kind: 'created', at, workflow: of.workflow, run: of.workflow, bytes: of.delivery.body.length });
    return message;
  }

  deliver(message: Message, outcome: Outcome): void {
    this.#attempt(message, outcome, 'delivered');
    this.#enter(message, 'DELIVERED', { outcome });
  }

  /** Fails a message after all its retries. */
  fail(message: Message, outcome: Outcome): void {
    const at = this.#at;
    for (let retried = 0; retried < message.delivery.maxRetries; retried++) {
      this.#attempt(message, outcome, 'retry');
      this.#enter(message, 'ERROR', { outcome, nextDeliveryTime: at });
      this.#enter(message, 'RETRY', { nextDeliveryTime: at });
    }
    this.#attempt(message, outcome, 'failed');
    this.#enter(message, 'ERROR', { outcome });
    const { dlq, workflowDlq } = this.#bed.state;
    message.dlqId = (message.workflow === undefined ? dlq : workflowDlq).add(message, at).dlqId;
    this.#enter(message, 'FAILED', { outcome });
  }

  cancel(message: Message): void {
    message.cancelRequested = true;
    this.#enter(message, 'CANCEL_REQUESTED');
    this.#enter(message, 'CANCELLED');
    this.#count({ kind: 'canceled', at: this.#at, workflow: message.workflow !== undefined });
  }

  #attempt(message: Message, outcome: Outcome, ended: 'delivered' | 'retry' | 'failed'): void {
    message.attempts++;
    message.lastOutcome = outcome;
    this.#enter(message, 'ACTIVE');
    this.#count({
      kind: 'attempt',
      at: this.#at,
      workflow: message.workflow !== undefined,
      outcome: ended,
      bytes: message.delivery.body.length + outcome.body.length,
    });
  }

  #enter(message: Message, state: State, told: Partial<Pick<LogEntry, 'outcome' | 'nextDeliveryTime'>> = {}): void {
    const { outcome, nextDeliveryTime } = told;
    message.state = state;
    this.#bed.state.log.append({ time: this.#at, state, message, outcome, nextDeliveryTime });
  }

  #count(fact: Fact): void {
    this.#bed.statistics.record(this.#bed.state.accountId, fact);
  }
}

function deliveryOf({ body, labels, flowControlKey }: SeededRun): Delivery {
  return {
    method: 'POST',
    body: Buffer.from(body ?? '{}'),
    headers: [['Content-Type', 'application/json']],
    timeoutMs: 30_000,
    maxRetries: MAX_RETRIES,
    labels: labels ?? [],
    flowControl: flowControlKey === undefined ? undefined : { key: flowControlKey, parallelism: 1 },
    callerIp: '127.0.0.1',
  };
}

function failedOutcome({ status, responseBody }: SeededRun): Outcome {
  const error = status === undefined ? 'the destination gave no answer' : `destination answered ${status}`;
  const body = Buffer.from(responseBody ?? '');
  return { delivered: false, ...(status !== undefined && { status }), headers: {}, body, error };
}
