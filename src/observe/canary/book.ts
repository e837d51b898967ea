/**
 * Messages of all canaries: in memory, and in the store before anyone relies on them. It belongs to the process, so a
 * change of the configuration loses no arrival. Changes are stored one after the other.
 */
import { randomBytes } from 'node:crypto';
import type { CanaryOutcome, CanaryPhase, CanaryVerdictReason } from '#foundation/domain/canary.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { OneByOne } from '#foundation/platform/one-by-one.ts';
import { Secret } from '#foundation/platform/secret.ts';
import type { Arrival, LogReading, Publish } from './facts.ts';
import type { CanaryPlace } from './message.ts';
import type { Relayed } from './relay.ts';
import { Round } from './round.ts';
import type { CanaryStore, RoundRecord, StateRecord } from './store.ts';

/** Number of kept messages of a canary. Messages that can still arrive are kept in addition. */
const KEPT = 50;
/** Time after which a message that did not arrive is lost. It has no retries, so it waited for the service itself. */
const LOST_MS = 15 * 60_000;
const MOST_ARRIVALS = 10;

export interface BookDeps {
  readonly store: CanaryStore;
  readonly clock: Clock;
  readonly events: EventBus;
}

/** Request that reached another replica before. */
type Past = Pick<Relayed, 'id' | 'agoMs'>;

export type NewRound = CanaryPlace & Pick<RoundRecord, 'route' | 'size' | 'bytes' | 'timeoutMs' | 'attemptMs'>;

export class CanaryBook {
  readonly #deps: BookDeps;
  readonly #rounds = new Map<string, Round>();
  readonly #byNonce = new Map<string, Round>();
  readonly #states = new Map<string, StateRecord>();
  /** Canaries that have sent a message in this process. */
  readonly #warm = new Set<string>();
  /** Accounts whose log has shown the response of a message. */
  readonly #responsesLogged = new Set<string>();
  /** Monotonic time of the last verdict that counts, in this process. */
  readonly #judgedAt = new Map<string, number>();
  /** Messages of an earlier process, which ended before the response to their publish request. */
  readonly #unanswered = new Set<Round>();
  readonly #changes = new OneByOne();
  readonly key: Secret;

  private constructor(deps: BookDeps, key: string) {
    this.#deps = deps;
    this.key = Secret.of(key);
  }

  static async open(deps: BookDeps): Promise<CanaryBook> {
    const book = new CanaryBook(deps, await deps.store.key(randomBytes(32).toString('base64url')));
    const { rounds, states } = await deps.store.load();
    for (const state of states) book.#states.set(keyOf(state), state);
    for (const record of rounds) {
      const round = new Round(record.result === undefined ? { ...record, isInterrupted: true } : record, deps.clock);
      book.#add(round);
      if (record.publish === undefined) book.#unanswered.add(round);
    }
    return book;
  }

  /** Returns the messages of a canary, oldest first. */
  rounds({ account, canary }: CanaryPlace): Round[] {
    return [...this.#rounds.values()]
      .filter(({ record }) => record.account === account && record.canary === canary)
      .sort((a, b) => a.record.startedAt - b.record.startedAt);
  }

  state(place: CanaryPlace): StateRecord | undefined {
    return this.#states.get(keyOf(place));
  }

  /** Returns the time since the last verdict in this process, in milliseconds. */
  judgedMs(place: CanaryPlace): number {
    return this.#deps.clock.monotonic() - (this.#judgedAt.get(keyOf(place)) ?? -Infinity);
  }

  /** Returns true if a message of the account was ever delivered. */
  hasSucceeded(account: string): boolean {
    return this.#states.values().some((state) => state.account === account && state.lastSuccessAt !== undefined);
  }

  /** Returns true if the log of the account has shown the response of a message in this process. */
  logsResponses(account: string): boolean {
    return this.#responsesLogged.has(account);
  }

  find(nonce: string): Round | undefined {
    return this.#byNonce.get(nonce);
  }

  /** Records a message before it is published. */
  async begin(fresh: NewRound): Promise<Round> {
    const { store, clock } = this.#deps;
    const { settled, forget } = this.#settle(fresh);
    const record: RoundRecord = {
      ...fresh,
      id: randomBytes(9).toString('base64url').replaceAll(/[-_]/g, '0'),
      nonce: randomBytes(16).toString('base64url'),
      startedAt: clock.now(),
      isWarmUp: !this.#warm.has(keyOf(fresh)),
      arrivals: [],
    };
    const round = new Round(record, clock);
    await this.#changes.run(() => store.save({ rounds: [record, ...settled], forget }));
    this.#warm.add(keyOf(fresh));
    for (const id of forget) this.#forget(id);
    this.#add(round);
    return round;
  }

  async published(round: Round, publish: Publish): Promise<void> {
    const isRejected = 'failure' in publish && publish.isRejected;
    await this.#change(round, (record) => ({ ...record, publish, ...(isRejected && { isSettled: true }) }));
    this.#count(round, isRejected ? 'rejected' : 'sent');
    if (!('failure' in publish)) this.#phase(round, 'accepted', publish.afterMs);
  }

  /** Records that the response was lost, if an earlier process sent the message: it was possibly accepted. */
  async unanswered(round: Round): Promise<void> {
    if (!this.#unanswered.delete(round)) return;
    const failure = { code: 'aborted', message: 'the daemon ended before the response' } as const;
    await this.published(round, { afterMs: round.nowMs, failure, isRejected: false });
  }

  /**
   * Records an arrival.
   *
   * @returns a function to call once the sender got its response
   */
  async arrived(round: Round, { altered }: Pick<Arrival, 'altered'>, relayed?: Past): Promise<() => void> {
    const [first] = round.record.arrivals;
    const isRepeated = first?.answerMs !== undefined;
    const arrival: Arrival = {
      afterMs: afterMsOf(round, relayed),
      altered,
      ...(isRepeated && { isRepeated }),
      ...(relayed !== undefined && { relayed: relayed.id }),
    };
    const arrivals = (record: RoundRecord) => [...record.arrivals, arrival].slice(0, MOST_ARRIVALS);
    await this.#change(round, (record) => ({ ...record, arrivals: arrivals(record) }), { relayed: relayed?.id });
    if (first === undefined) this.#countFirst(round, arrival);
    else if (isRepeated) {
      this.#count(round, 'duplicate');
      if (round.isEnded) await this.end(round, { verdict: 'service', reason: 'the message arrived twice' });
    }
    return () => this.#answered(round, arrival, round.nowMs - arrival.afterMs);
  }

  /** Records that the sender of a message that arrived at another replica has the response. */
  answered(round: Round, { of, answerMs }: { readonly of: number; readonly answerMs: number }): void {
    const arrival = round.record.arrivals.find((one) => one.relayed === of);
    if (arrival !== undefined) this.#answered(round, arrival, answerMs);
  }

  async called(round: Round, status: number | undefined, relayed?: Past): Promise<void> {
    if (round.record.callback !== undefined) return;
    const afterMs = afterMsOf(round, relayed);
    const callback = { afterMs, ...(status !== undefined && { status }) };
    await this.#change(round, (record) => ({ ...record, callback }), { relayed: relayed?.id });
    const [first] = round.record.arrivals;
    if (first !== undefined) this.#phase(round, 'callback', afterMs - first.afterMs);
  }

  /** Records when the log first showed the message, and its delivery. */
  logged(round: Round, reading: LogReading): void {
    if ('failed' in reading || reading.state === 'none') return;
    const { account, publish, arrivals, loggedMs, deliveredMs } = round.record;
    const { afterMs } = reading;
    if (reading.state === 'delivered' && reading.hasResponse === true) this.#responsesLogged.add(account);
    if (loggedMs === undefined) {
      round.record = { ...round.record, loggedMs: afterMs };
      if (publish !== undefined) this.#phase(round, 'logged', afterMs - publish.afterMs);
    }
    if (deliveredMs !== undefined || reading.state !== 'delivered') return;
    round.record = { ...round.record, deliveredMs: afterMs };
    if (arrivals[0] !== undefined) this.#phase(round, 'delivered', afterMs - arrivals[0].afterMs);
  }

  /** Records the verdict. A failed warm-up proves nothing, so it does not change the state of the canary. */
  async end(round: Round, result: CanaryVerdictReason): Promise<void> {
    const { account, canary, isWarmUp, id } = round.record;
    const counts = !isWarmUp || result.verdict === 'ok';
    const afterMs = round.nowMs;
    let before: StateRecord | undefined;
    let state: StateRecord | undefined;
    await this.#change(round, (record) => ({ ...record, result: { ...result, afterMs } }), {
      nextState: () => {
        before = this.state(round.record);
        return (state = counts ? this.#next(round, result) : undefined);
      },
    });
    if (state === undefined) return;
    this.#judgedAt.set(keyOf(state), this.#deps.clock.monotonic());
    const { messageId } = round;
    this.#deps.events.emit({
      type: 'canary.verdict',
      account,
      canary,
      verdict: state.verdict,
      ...(before !== undefined && { previous: before.verdict }),
      reason: state.reason,
      round: id,
      ...(messageId !== undefined && { messageId }),
    });
  }

  /** State of the canary after a result. A large message that failed counts until the next one. */
  #next({ record }: Round, { verdict, reason }: CanaryVerdictReason): StateRecord {
    const { account, canary, size, startedAt, arrivals } = record;
    const before = this.state(record);
    const last = { ...before?.last, [size]: { verdict, reason } };
    const { small, real } = last;
    const shown =
      real !== undefined && real.verdict !== 'ok' && (small === undefined || small.verdict === 'ok')
        ? { verdict: real.verdict, reason: `a message of the real size: ${real.reason}` }
        : (small ?? { verdict, reason });
    const arrivedAt = Math.round(startedAt + (arrivals[0]?.afterMs ?? 0));
    const lastSuccessAt = verdict === 'ok' ? Math.max(arrivedAt, before?.lastSuccessAt ?? 0) : before?.lastSuccessAt;
    const isSame = before?.verdict === shown.verdict;
    return {
      account,
      canary,
      ...shown,
      since: isSame ? before.since : this.#deps.clock.now(),
      ...(lastSuccessAt !== undefined && { lastSuccessAt }),
      last,
    };
  }

  #answered(round: Round, arrival: Arrival, answerMs: number): void {
    // In memory only: after a restart, a failure is unknown anyway.
    const arrivals = round.record.arrivals.map((one) => (one === arrival ? { ...one, answerMs } : one));
    round.record = { ...round.record, arrivals };
    round.changed();
  }

  #countFirst(round: Round, { afterMs, altered }: Arrival): void {
    const { publish, timeoutMs } = round.record;
    this.#count(round, afterMs > timeoutMs && !round.isInterrupted ? 'late' : 'arrived');
    if (altered) this.#count(round, 'altered');
    const acceptedMs = publish === undefined || 'failure' in publish ? 0 : publish.afterMs;
    this.#phase(round, 'arrived', afterMs - acceptedMs);
    if (round.record.isWarmUp) return;
    const { account, canary } = round.record;
    this.#deps.events.emit({ type: 'canary.round_trip', account, canary, durationMs: afterMs });
  }

  #count({ record }: Round, outcome: CanaryOutcome): void {
    const { account, canary, isWarmUp } = record;
    if (!isWarmUp) this.#deps.events.emit({ type: 'canary.message', account, canary, outcome });
  }

  #phase({ record }: Round, phase: CanaryPhase, durationMs: number): void {
    const { account, canary, isWarmUp } = record;
    if (isWarmUp) return;
    // An arrival may precede the response to its publish request.
    this.#deps.events.emit({ type: 'canary.phase', account, canary, phase, durationMs: Math.max(0, durationMs) });
  }

  /** Counts lost messages. @returns those that are settled now, and the ids of those that need not be kept */
  #settle(place: CanaryPlace): { readonly settled: readonly RoundRecord[]; readonly forget: readonly string[] } {
    const rounds = this.rounds(place);
    const settled: RoundRecord[] = [];
    for (const round of rounds) {
      const { arrivals, result, isSettled, timeoutMs } = round.record;
      if (result === undefined || isSettled === true) continue;
      const isLost = arrivals.length === 0 && round.nowMs >= Math.max(LOST_MS, 2 * timeoutMs);
      if (arrivals.length === 0 && !isLost) continue;
      round.record = { ...round.record, isSettled: true };
      settled.push(round.record);
      if (isLost) this.#count(round, 'lost');
    }
    const old = rounds.slice(0, -KEPT).filter(({ record }) => record.isSettled === true);
    return { settled, forget: old.map(({ record }) => record.id) };
  }

  #add(round: Round): void {
    this.#rounds.set(round.record.id, round);
    this.#byNonce.set(round.record.nonce, round);
  }

  #forget(id: string): void {
    const round = this.#rounds.get(id);
    if (round === undefined) return;
    this.#rounds.delete(id);
    this.#byNonce.delete(round.record.nonce);
  }

  /** Stores a change, then applies it. */
  async #change(
    round: Round,
    change: (record: RoundRecord) => RoundRecord,
    { nextState, relayed }: { nextState?: () => StateRecord | undefined; relayed?: number | undefined } = {},
  ): Promise<void> {
    await this.#changes.run(async () => {
      const state = nextState?.();
      await this.#deps.store.save({ rounds: [change(round.record)], ...(state !== undefined && { state }), relayed });
      // Applied again: facts in memory may have been added during the write.
      round.record = change(round.record);
      if (state !== undefined) this.#states.set(keyOf(state), state);
    });
    round.changed();
  }
}

/** Returns the time of an arrival since the start of the round: now, or that of a relayed request. */
function afterMsOf(round: Round, { agoMs }: Pick<Past, 'agoMs'> = { agoMs: 0 }): number {
  return Math.max(0, round.nowMs - agoMs);
}

function keyOf({ account, canary }: CanaryPlace): string {
  return `${account}/${canary}`;
}
