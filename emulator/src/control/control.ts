/**
 * Control of the service by tests: changes that no operation of the interface can make. Methods throw an ApiError that
 * names the problem. `account` is optional when only one exists.
 */
import type { Random } from '#foundation/platform/random.ts';
import type { Activity } from './activity.ts';
import type { Rest } from './rest.ts';
import { AccountError, type AccountSeed } from '../state/account-book.ts';
import { accountView } from '../state/account-view.ts';
import type { AccountChange, Advancing, HoldChange, NextOrigin, OfAccount } from './control-bodies.ts';
import type { ControlledService } from './controlled-service.ts';
import type { DeliveryFaults } from '../delivery/delivery-faults.ts';
import type { Faults } from '../http/faults.ts';
import type { FlowFigures, FlowHold } from '../state/flow-lane.ts';
import type { MessageOrigin } from '../state/message-origins.ts';
import { viewOf, type MessageView } from '../state/message-view.ts';
import { isTerminal, type Message } from '../state/message.ts';
import type { Planted } from './plant-seed.ts';
import type { RequestRecorder } from './request-recorder.ts';
import { ApiError } from '../state/api-error.ts';
import type { ScriptedDestinations } from './scripted-destinations.ts';
import type { Seed } from './seed-body.ts';
import type { SigningKeyRing, AccountSigningKeys } from '../state/signing-keys.ts';
import type { SteerableClock, TimeMode } from './steerable-clock.ts';
import type { Switches } from '../state/switches.ts';

export interface ControlOptions {
  readonly clock: SteerableClock;
  readonly rest: Rest;
  readonly activity: Activity;
  readonly random: Random;
  readonly service: () => ControlledService;
  readonly rebuild: () => Promise<void>;
  readonly advance: (ms: number, options: { readonly patienceMs?: number | undefined }) => Promise<void>;
  /** Switches, changed in place: all holders see the change. */
  readonly switches: { -readonly [K in keyof Switches]: Switches[K] };
  readonly signingKeys: SigningKeyRing;
  readonly destinations: Pick<ScriptedDestinations, 'script'>;
  readonly faults: Faults;
  readonly deliveryFaults: DeliveryFaults;
  readonly requests: RequestRecorder;
}

/** Facts about an account that its clients and receivers need. */
interface AddedAccount {
  readonly id: string;
  readonly token: string;
  readonly readOnlyToken: string;
  readonly signingKeys: AccountSigningKeys;
}

export interface ClockView {
  readonly mode: TimeMode | 'skip';
  /** Epoch milliseconds. */
  readonly now: number;
  /** Number of pending timers, and the time until the first. */
  readonly timers: number;
  readonly nextInMs?: number;
}

/** Maximum move of time, above one year. A longer move is a mistake in a unit. */
const LONGEST_MOVE_MS = 400 * 86_400_000;

export class EmulatorControl {
  readonly faults: Faults;
  readonly deliveryFaults: DeliveryFaults;
  readonly requests: RequestRecorder;
  readonly #options: ControlOptions;
  readonly #initialSwitches: Switches;

  constructor(options: ControlOptions) {
    this.#options = options;
    this.#initialSwitches = { ...options.switches };
    this.faults = options.faults;
    this.deliveryFaults = options.deliveryFaults;
    this.requests = options.requests;
  }

  /**
   * Restores the state of the start, except time and signing keys. Deliveries in progress are aborted. The first tokens
   * are valid again.
   */
  async reset(): Promise<void> {
    this.faults.clear();
    this.deliveryFaults.clear();
    Object.assign(this.#options.switches, this.#initialSwitches);
    await this.#options.rebuild();
    // Cleared last, so that requests during the abort of deliveries are removed too.
    this.requests.clear();
  }

  /**
   * Adds state as if it had developed in operation.
   *
   * @throws {ApiError} 400 with the place in the seed, for example `messages.2`
   */
  async seed(seed: Seed): Promise<Planted> {
    const { activity, clock, destinations, random } = this.#options;
    // Loaded when needed, like the control API: their schemas take 10 MB.
    const { inPlace, plantSeed } = await import('./plant-seed.ts');
    if (seed.startAt !== undefined) {
      await inPlace('startAt', () => this.advance({ to: new Date(seed.startAt!).getTime() }));
    }
    // Time does not skip over a part of a seed.
    const ended = activity.begin('seed');
    try {
      const { state, account } = this.#of(seed.account);
      const service = this.#options.service();
      return await plantSeed(seed, { ...service, state, account, destinations, now: clock.now(), random });
    } finally {
      ended();
    }
  }

  clock(): ClockView {
    const { timers, nextIn } = this.#options.clock;
    return {
      mode: this.#options.rest.mode,
      now: this.#options.clock.now(),
      timers,
      ...(nextIn !== undefined && { nextInMs: nextIn }),
    };
  }

  async setTime(mode: TimeMode | 'skip'): Promise<ClockView> {
    await this.#options.rest.setMode(mode);
    return this.clock();
  }

  /** Resolves when the service is idle: see `Rest.idle`. */
  async idle(limit: { readonly limitMs?: number | undefined } = {}): Promise<ClockView> {
    await this.#options.rest.idle(limit);
    return this.clock();
  }

  /** Moves time by milliseconds, or to a given time. Deliveries that become due are really made. */
  async advance(move: Advancing): Promise<ClockView> {
    const ms = 'ms' in move ? move.ms : move.to - this.#options.clock.now();
    if (!(ms >= 0)) throw new ApiError(400, `time does not go back: that moment is ${-ms} ms ago`);
    if (ms > LONGEST_MOVE_MS) throw new ApiError(400, `time moves by at most ${LONGEST_MOVE_MS} ms at once, not ${ms}`);
    await this.#options.advance(ms, move);
    return this.clock();
  }

  /**
   * Cancels a waiting message at once, and a message in delivery after its attempt. The attempt may still deliver the
   * message.
   */
  cancelMessage({ account, messageId }: OfAccount & { readonly messageId: string }): MessageView {
    const message = this.#message(account, messageId);
    this.#cancel(message, `message ${messageId}`);
    return viewOf(message);
  }

  /** Cancels the failure function of a run while it is in progress. Its state becomes CALLBACK_CANCELED. */
  cancelFailureFunction({ account, dlqId }: OfAccount & { readonly dlqId: string }): MessageView {
    const { state } = this.#of(account);
    const deadLetter = state.workflowDlq.get(dlqId);
    if (deadLetter === undefined) throw new ApiError(404, `no failed run has the id ${dlqId.slice(0, 200)}`);
    const notice = deadLetter.message.failureNotice;
    if (notice === undefined) throw new ApiError(409, `no failure function is in progress for ${dlqId}`);
    this.#cancel(notice, `the failure function of ${dlqId}`);
    return viewOf(notice);
  }

  /** Assigns a message, and all reports about it, to a schedule or queue. */
  nameMessage({
    account,
    messageId,
    ...origin
  }: OfAccount & MessageOrigin & { readonly messageId: string }): MessageView {
    const message = this.#message(account, messageId);
    Object.assign(message, origin);
    return viewOf(message);
  }

  /** Assigns the next publishes and triggers to a schedule or queue. */
  nameNext({ account, times, ...origin }: NextOrigin): void {
    this.#options.service().origins.set(this.#of(account).account.id, origin, times ?? 1);
  }

  /** Adds an account until the next reset. Requests that omit the account are then rejected. */
  addAccount(seed: AccountSeed): AddedAccount {
    if (Object.values(seed.signingKeys ?? {}).includes('')) throw new ApiError(400, 'a signing key must not be empty');
    try {
      const { id, token, readOnlyToken } = this.#options.service().addAccount(seed);
      return { id, token, readOnlyToken, signingKeys: this.#options.signingKeys.give(id, seed.signingKeys) };
    } catch (error) {
      throw error instanceof AccountError ? new ApiError(409, error.message) : error;
    }
  }

  /**
   * Makes the next key the current one, and generates a new next key. Deliveries are signed with the new current key.
   */
  rollSigningKeys({ account }: OfAccount = {}): AccountSigningKeys {
    return this.#options.signingKeys.roll(this.#of(account).account.id);
  }

  setAccount({ account: id, state, modifyingState, plan, enterpriseId }: AccountChange & OfAccount): void {
    const { account } = this.#of(id);
    const { accounts } = this.#options.service();
    if (state !== undefined || modifyingState !== undefined) {
      const changing = modifyingState === undefined ? account.modifyingState : (modifyingState ?? undefined);
      accounts.setState(account.id, {
        state: state ?? account.state ?? 'active',
        modifyingState: changing,
      });
    }
    if (plan !== undefined) {
      accounts.setPlan(account.id, { plan, now: this.#options.clock.now(), enterpriseId });
    }
  }

  /** Pauses a key, pins its limits, or removes pause and pins. Absent fields keep their values. */
  hold({ account, key, paused, parallelism, rate }: HoldChange & { readonly key: string }): FlowFigures {
    const { state } = this.#of(account);
    const before: FlowHold = state.flow.get(key)?.hold ?? { paused: false };
    this.#options.service().engine.hold(state.accountId, key, {
      paused: paused ?? before.paused,
      parallelism: parallelism === undefined ? before.parallelism : (parallelism ?? undefined),
      rate: rate === undefined ? before.rate : (rate ?? undefined),
    });
    return state.flow.get(key)!.figures();
  }

  switches(): Switches {
    return { ...this.#options.switches };
  }

  setSwitches(changes: Partial<Switches>): Switches {
    Object.assign(this.#options.switches, changes);
    return this.switches();
  }

  state() {
    const { accounts, states } = this.#options.service();
    return {
      clock: this.clock(),
      switches: this.switches(),
      faults: this.faults.list().length,
      accounts: accounts
        .all()
        .map((account) => accountView(account, states.get(account.id)!, this.#options.clock.now())),
    };
  }

  #of(id: string | undefined) {
    const { accounts, states } = this.#options.service();
    const all = accounts.all();
    if (id === undefined && all.length !== 1) {
      throw new ApiError(400, `account is required, one of: ${all.map((account) => account.id).join(', ')}`);
    }
    const account = id === undefined ? all[0]! : accounts.byId(id);
    if (account === undefined) throw new ApiError(404, `unknown account ${id?.slice(0, 200)}`);
    return { account, state: states.get(account.id)! };
  }

  #message(account: string | undefined, messageId: string): Message {
    const message = this.#of(account).state.messages.get(messageId);
    if (message === undefined) throw new ApiError(404, `unknown message ${messageId.slice(0, 200)}`);
    return message;
  }

  #cancel(message: Message, what: string): void {
    if (this.#options.service().engine.cancel(message)) return;
    const why = isTerminal(message.state) ? `has ended: it is ${message.state}` : 'is already being canceled';
    throw new ApiError(409, `${what} ${why}`);
  }
}
