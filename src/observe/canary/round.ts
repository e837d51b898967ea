/** One message of a canary in this process: its record, the time since its start, and waits for its changes. */
import type { CanaryPhase, CanaryRound } from '#foundation/domain/canary.ts';
import type { Clock, Timer } from '#foundation/platform/clock.ts';
import type { CanaryFacts, LogReading } from './facts.ts';
import type { RoundRecord } from './store.ts';

/** Difference of the two clocks, or delay of a beat, that shows that the process was stopped or the clock was set. */
const SUSPENDED_MS = 5_000;
/** Interval at which a watched message notices that the process runs. */
const BEAT_MS = 1_000;

/** Facts that are read again after a restart. */
export type Evidence = Partial<Pick<CanaryFacts, 'log' | 'callbackLog' | 'receiver' | 'elsewhere' | 'flow'>>;

export class Round {
  readonly #clock: Clock;
  /** Monotonic time of the start. */
  readonly #start: number;
  readonly #waiting = new Set<() => void>();
  /** Monotonic time of the last beat, while the message is watched. */
  #beatAt: number | undefined;
  #isInterrupted = false;
  record: RoundRecord;
  readonly rejections: CanaryFacts['rejections'][number][] = [];
  /** Number of arrivals that are not stored yet. */
  storing = 0;

  /** @param record of a new message, or of one that an earlier process sent */
  constructor(record: RoundRecord, clock: Clock) {
    this.#clock = clock;
    this.record = record;
    this.#start = clock.monotonic() - Math.max(0, clock.now() - record.startedAt);
  }

  /** Milliseconds since the start. */
  get nowMs(): number {
    return this.#clock.monotonic() - this.#start;
  }

  get isEnded(): boolean {
    return this.record.result !== undefined;
  }

  /** Id at the service; undefined if the publish request had no response, or published no message. */
  get messageId(): string | undefined {
    const { publish } = this.record;
    return publish !== undefined && 'messageId' in publish ? publish.messageId : undefined;
  }

  /** Returns true if the daemon perhaps did not watch the message all the time. */
  get isInterrupted(): boolean {
    const wall = this.#clock.now() - this.record.startedAt;
    // After a stop of the process, a waiting request may come before the beat that is overdue.
    const silentMs = this.#clock.monotonic() - (this.#beatAt ?? Infinity);
    this.#isInterrupted ||=
      this.record.isInterrupted === true ||
      silentMs > BEAT_MS + SUSPENDED_MS ||
      Math.abs(wall - this.nowMs) > SUSPENDED_MS;
    return this.#isInterrupted;
  }

  /** Notices until the verdict if the process is stopped, which the difference of the clocks does not show. */
  watch(signal: AbortSignal): void {
    if (signal.aborted || this.isInterrupted) return;
    this.#beatAt = this.isEnded ? undefined : this.#clock.monotonic();
    if (!this.isEnded) this.#clock.after(BEAT_MS, () => this.watch(signal));
  }

  facts(evidence: Evidence, known: Pick<CanaryFacts, 'isKnownService' | 'logsResponses'>): CanaryFacts {
    return {
      ...this.record,
      ...evidence,
      isInterrupted: this.isInterrupted,
      rejections: this.rejections,
      isStoring: this.storing > 0,
      ...known,
    };
  }

  changed(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Resolves at a change of the record, or after that time since the start. Rejects with the signal's reason. */
  async changeOr(untilMs: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    let timer: Timer | undefined;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = (): void => reject(signal.reason as Error);
    this.#waiting.add(resolve);
    signal.addEventListener('abort', onAbort);
    if (untilMs !== Infinity) timer = this.#clock.after(Math.max(0, untilMs - this.nowMs), resolve);
    try {
      await promise;
    } finally {
      timer?.cancel();
      this.#waiting.delete(resolve);
      signal.removeEventListener('abort', onAbort);
    }
  }

  view(): CanaryRound {
    const { id, size, bytes, startedAt, publish, arrivals, callback, isWarmUp, result } = this.record;
    const { messageId } = this;
    const phases: [CanaryPhase, number | undefined][] = [
      ['accepted', publish !== undefined && !('failure' in publish) ? publish.afterMs : undefined],
      ['logged', this.record.loggedMs],
      ['arrived', arrivals[0]?.afterMs],
      ['callback', callback?.afterMs],
      ['delivered', this.record.deliveredMs],
    ];
    return {
      id,
      size,
      bytes,
      startedAt,
      phases: Object.fromEntries(
        phases.flatMap(([phase, afterMs]) => (afterMs === undefined ? [] : [[phase, Math.round(startedAt + afterMs)]])),
      ),
      duplicates: Math.max(0, arrivals.length - 1),
      ...(messageId !== undefined && { messageId }),
      warmUp: isWarmUp,
      ...(result !== undefined && {
        result: { verdict: result.verdict, reason: result.reason, at: Math.round(startedAt + result.afterMs) },
      }),
    };
  }
}

/** Returns true if the log reports a state. */
export function isLogged(log: LogReading | undefined, state: 'delivered' | 'failed'): boolean {
  return log !== undefined && !('failed' in log) && log.state === state;
}
