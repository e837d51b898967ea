/**
 * Life of messages: accepted, due, delivered or retried, and ended. Every step writes a log entry. Billed or counted
 * steps also emit a fact.
 *
 *     CREATED → ACTIVE → DELIVERED
 *                      → ERROR → RETRY → ACTIVE …
 *                      → ERROR → FAILED, and an entry in a DLQ
 */
import type { Clock, Timer } from '#foundation/platform/clock.ts';
import type { Random } from '#foundation/platform/random.ts';
import type { AccountState } from '../state/account-state.ts';
import { retryDelay } from './backoff.ts';
import { callbackBody, callbackDelivery, failureFunctionOf } from './callbacks.ts';
import { Carrier, type CarrierOptions } from './carrier.ts';
import type { Delivered } from './delivery.ts';
import { Dispatcher } from './dispatcher.ts';
import type { Fact, FactListener } from '../statistics/facts.ts';
import type { FlowHold, FlowLane } from '../state/flow-lane.ts';
import { InProgress } from './in-progress.ts';
import {
  attemptId,
  isTerminal,
  type CallbackSetting,
  type Message,
  type Outcome,
  type State,
} from '../state/message.ts';
import { createMessage, type NewMessage } from './new-message.ts';
import type { Load, SharedLimits } from './shared-limits.ts';
import { judge } from './verdict.ts';

export interface EngineOptions extends CarrierOptions {
  readonly random: Random;
  /** Limits that the messages of an account share. */
  readonly shared: SharedLimits;
  /** Maximum concurrent deliveries. */
  readonly workers: number;
  readonly states: ReadonlyMap<string, AccountState>;
  readonly onFact: FactListener;
  /** Called when an attempt has ended, before the next one begins. */
  readonly onAttemptEnd: (message: Message) => void;
  /** Called with failures of the engine itself, which must not occur. */
  readonly onError: (error: unknown) => void;
}

export class Engine {
  readonly #options: EngineOptions;
  readonly #clock: Clock;
  readonly #dispatcher: Dispatcher<Message>;
  readonly inProgress = new InProgress();
  readonly #carrier: Carrier;
  /** Timers of messages that wait for their time. */
  readonly #timers = new Map<Message, Timer>();
  readonly #stopping = new AbortController();
  /** Number of messages submitted, and the newest. */
  submitted = 0;
  newest: Message | undefined;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#clock = options.clock;
    const { shared } = options;
    this.#carrier = new Carrier(options);
    this.#dispatcher = new Dispatcher({
      clock: options.clock,
      workers: options.workers,
      shared: {
        holding: (message) => shared.holding(loadOf(message)),
        begin: (message) => shared.begin(loadOf(message)),
        end: (message) => shared.end(loadOf(message)),
      },
      start: (message, lane) => void this.#attempt(message, lane),
    });
  }

  submit(accountId: string, request: NewMessage): Message {
    const now = this.#clock.now();
    const message = createMessage(request, { accountId, now, random: this.#options.random });
    const state = this.#stateOf(message);
    state.messages.set(message.id, message);
    this.submitted++;
    this.newest = message;
    const delayed = message.notBefore > now;
    this.#enter(message, 'CREATED', { nextDeliveryTime: delayed ? message.notBefore : undefined });
    this.#tell(message, {
      kind: 'created',
      at: now,
      workflow: message.workflow !== undefined,
      run: request.workflow?.isNew ?? false,
      bytes: message.delivery.body.length,
    });
    const { flowControl } = message.delivery;
    // New limits also apply to waiting messages.
    if (flowControl !== undefined) this.#dispatcher.wake(state.flow.use(flowControl));
    const held = this.#options.faults.of('held', message);
    if (held !== undefined && held.ms === undefined) return message;
    const delay = message.notBefore - now + (held?.ms ?? 0);
    if (delay > 0) this.#wait(message, delay);
    else this.#dispatcher.offer(message, this.#laneOf(message));
    return message;
  }

  /**
   * Continues a message of an earlier process. An aborted attempt does not count and is repeated, so that every
   * accepted message is delivered at least once.
   */
  resume(message: Message, due: number | undefined): void {
    const { flowControl } = message.delivery;
    const state = this.#stateOf(message);
    if (flowControl !== undefined && state.flow.get(flowControl.key) === undefined) state.flow.use(flowControl);
    if (message.state === 'ACTIVE') message.attempts--;
    if (message.cancelRequested) this.#endCanceled(message);
    else if (due !== undefined && due > this.#clock.now()) this.#wait(message, due - this.#clock.now());
    else this.#dispatcher.offer(message, this.#laneOf(message));
  }

  /**
   * Cancels a message: a waiting one at once, one in delivery after its attempt, which may still deliver it. Returns
   * false when there is nothing to cancel.
   */
  cancel(message: Message): boolean {
    if (isTerminal(message.state) || message.cancelRequested) return false;
    message.cancelRequested = true;
    const active = message.state === 'ACTIVE';
    this.#log(message, 'CANCEL_REQUESTED', {});
    if (active) return true;
    this.#timers.get(message)?.cancel();
    this.#timers.delete(message);
    this.#laneOf(message).waiting.delete(message);
    this.#endCanceled(message);
    return true;
  }

  /**
   * Pauses a flow-control key, pins its limits, or removes both. Waiting messages that are now allowed start at once.
   */
  hold(accountId: string, key: string, hold: FlowHold): void {
    this.#dispatcher.wake(this.#options.states.get(accountId)!.flow.hold(key, hold));
  }

  /** Messages in delivery. */
  get active(): readonly Message[] {
    const ids = [...this.inProgress].map((attempt) => attempt.slice(0, attempt.lastIndexOf('.')));
    return [...this.#options.states.values()].flatMap(({ messages }) => ids.flatMap((id) => messages.get(id) ?? []));
  }

  /** Messages that wait for their time. */
  get waiting(): readonly Message[] {
    return [...this.#timers.keys()];
  }

  /** Rechecks waiting messages after a change of the shared limits. */
  limitsChanged(): void {
    this.#dispatcher.wakeHeld();
  }

  /** Aborts deliveries in progress without log entries. */
  async stop(): Promise<void> {
    this.#dispatcher.stop();
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    this.#stopping.abort(new Error('the embedded service has stopped'));
    await this.#dispatcher.idle();
    await this.#options.deliverer.close();
  }

  async #attempt(message: Message, lane: FlowLane<Message>): Promise<void> {
    message.attempts++;
    const id = attemptId(message.id, message.attempts);
    this.inProgress.begin(id);
    this.#enter(message, 'ACTIVE', {});
    try {
      const outcome = await this.#carrier.carry(message, this.#stopping.signal);
      this.#finish(message, outcome);
    } catch (error) {
      // The stop aborted the attempt, so the message keeps its state.
      if (!this.#stopping.signal.aborted) this.#options.onError(error);
    } finally {
      this.#options.onAttemptEnd(message);
      this.#dispatcher.done(message, lane);
      // Listeners check the deliveries in progress now, including those that this end started.
      this.inProgress.end(id);
    }
  }

  #finish(message: Message, { wanted, ...outcome }: Delivered): void {
    const now = this.#clock.now();
    const told: Outcome = wanted === undefined ? outcome : { ...outcome, body: wanted };
    message.lastOutcome = outcome;
    const verdict = judge(message, outcome, this.#options.headerNames.nonRetryable);
    this.#tell(message, {
      kind: 'attempt',
      at: now,
      workflow: message.workflow !== undefined,
      // A canceled message has not failed permanently. The statistics count each message once: delivered, failed or
      // canceled.
      outcome: verdict === 'canceled' ? 'retry' : verdict,
      bytes: message.delivery.body.length + outcome.body.length,
    });
    if (verdict === 'delivered') {
      this.#enter(message, 'DELIVERED', { outcome });
    } else if (verdict === 'canceled') {
      this.#enter(message, 'ERROR', { outcome });
      this.#endCanceled(message);
    } else if (verdict === 'retry') {
      this.#retry(message, outcome);
    } else {
      this.#enter(message, 'ERROR', { outcome });
      this.#fail(message, outcome, told);
    }
    const { callback } = message.delivery;
    if (callback !== undefined && !this.#isSilent(message))
      this.#notify(message, callback, callbackBody(message, told));
  }

  #retry(message: Message, outcome: Outcome): void {
    const now = this.#clock.now();
    const retryAfter = outcome.headers['retry-after'];
    const delay = retryDelay({
      retried: message.attempts - 1,
      expression: message.delivery.retryDelay?.evaluate,
      retryAfter: typeof retryAfter === 'string' ? retryAfter : retryAfter?.[0],
      now,
    });
    const nextDeliveryTime = now + delay;
    this.#enter(message, 'ERROR', { outcome, nextDeliveryTime });
    this.#enter(message, 'RETRY', { nextDeliveryTime });
    this.#wait(message, delay);
  }

  #fail(message: Message, outcome: Outcome, told: Outcome): void {
    const state = this.#stateOf(message);
    const queue = message.workflow === undefined ? state.dlq : state.workflowDlq;
    message.dlqId = queue.add(message, this.#clock.now()).dlqId;
    this.#enter(message, 'FAILED', { outcome });
    const { switches, headerNames } = this.#options;
    const failureFunction = switches.failureFunction === 'on' ? failureFunctionOf(message, headerNames) : undefined;
    const notice = message.delivery.failureCallback ?? failureFunction;
    if (notice === undefined || this.#isSilent(message)) return;
    message.failureNotice = this.#notify(message, notice, callbackBody(message, told, message.dlqId));
  }

  /** Returns true if a fault withholds the callback that is due. */
  #isSilent(message: Message): boolean {
    return this.#options.faults.of('no-callback', message) !== undefined;
  }

  #endCanceled(message: Message): void {
    this.#enter(message, 'CANCELLED', {});
    this.#tell(message, { kind: 'canceled', at: this.#clock.now(), workflow: message.workflow !== undefined });
  }

  #notify(source: Message, callback: CallbackSetting, body: Uint8Array): Message {
    return this.submit(source.accountId, {
      url: callback.url,
      delivery: callbackDelivery(callback, source, body),
      notBefore: this.#clock.now() + callback.delayMs,
    });
  }

  #wait(message: Message, ms: number): void {
    const timer = this.#clock.after(ms, () => {
      this.#timers.delete(message);
      this.#dispatcher.offer(message, this.#laneOf(message));
    });
    this.#timers.set(message, timer);
  }

  #laneOf(message: Message): FlowLane<Message> {
    const state = this.#stateOf(message);
    const { flowControl } = message.delivery;
    if (flowControl === undefined) return state.openLanes.of(message.url);
    return state.flow.get(flowControl.key) ?? state.flow.use(flowControl);
  }

  #enter(message: Message, state: State, told: Told): void {
    message.state = state;
    this.#log(message, state, told);
  }

  #log(message: Message, state: State, told: Told): void {
    if (this.#options.faults.hides(message, state)) return;
    this.#stateOf(message).log.append({
      time: this.#clock.now(),
      state,
      message,
      nextDeliveryTime: told.nextDeliveryTime,
      outcome: told.outcome,
    });
  }

  #tell(message: Message, fact: Fact): void {
    this.#options.onFact(message.accountId, fact);
  }

  #stateOf(message: Message): AccountState {
    return this.#options.states.get(message.accountId)!;
  }
}

function loadOf({ accountId, url, delivery }: Message): Load {
  return { accountId, url, bytes: delivery.body.length };
}

interface Told {
  readonly nextDeliveryTime?: number | undefined;
  readonly outcome?: Outcome;
}
