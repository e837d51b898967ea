/** A small service behind the client's port: the operations that collectors read, over facts that a test sets. */
import type { Answer, LogPage, LogQuery, ManagementApi, MessageApi, ServiceClient } from '#service/api.ts';
import type { ServiceErrorCode } from '#foundation/domain/service-error.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import type { HistoryEntry } from '../../support/log-history.ts';

/** Error of the client, with the fields that collectors read. */
export class FakeServiceError extends Error {
  readonly code: ServiceErrorCode;

  constructor(code: ServiceErrorCode) {
    super(`the service answered: ${code}`);
    this.code = code;
  }
}

/** Builds a client with only these operations. Any other one is missing, so its call fails the test. */
export function clientOf(apis: {
  readonly message?: Partial<MessageApi>;
  readonly management?: Partial<ManagementApi>;
}): ServiceClient {
  return {
    ...(apis.message && { message: apis.message as MessageApi }),
    ...(apis.management && { management: apis.management as ManagementApi }),
    usage: () => ({ usedToday: 0, allowedPerDay: Infinity }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

export function answer<T>(value: T, dropped = 0): Answer<T> {
  return { value, dropped };
}

export interface FakeLogOptions {
  readonly clock: Clock;
  /** Rows of a page, whatever the request says. */
  readonly pageSize?: number;
  readonly order?: 'newest first' | 'oldest first' | 'none';
  /** True if entries carry their state. */
  readonly withState?: boolean;
  /** Every n-th entry is listed twice. */
  readonly repeatEvery?: number;
  /** Time until an entry appears, in milliseconds. */
  readonly lateBy?: (entry: HistoryEntry) => number;
  /** True if each message has one entry, with its present state and that state's time. */
  readonly presentOnly?: boolean;
  /** Returns whether an entry's row is invalid, and whether its time is readable. */
  readonly invalid?: (entry: HistoryEntry) => 'timed' | 'timeless' | undefined;
  /** The service's clock minus ours, in milliseconds; undefined when it sends no date. */
  readonly skew?: number | (() => number);
  /** True if responses carry a date, when the skew is given. */
  readonly isDated?: boolean;
  /** Duration of a response, in milliseconds. */
  readonly answerMs?: number;
  /** Lifetime of a listing's cursors after its first response, in milliseconds. */
  readonly cursorMs?: number;
}

/** The log: entries appear when the service's clock has reached them. */
export class FakeLog {
  readonly entries: HistoryEntry[] = [];
  readonly queries: LogQuery[] = [];
  /** Called before each response. The caller receives its error. */
  beforeAnswer: (query: LogQuery) => void = () => undefined;
  readonly #options: FakeLogOptions;

  constructor(options: FakeLogOptions) {
    this.#options = options;
  }

  get client(): ServiceClient {
    return clientOf({ message: { listLogs: (query, { signal }) => this.#list(query, signal) } });
  }

  async #list(query: LogQuery, signal: AbortSignal): Promise<LogPage> {
    signal.throwIfAborted();
    await Promise.resolve();
    this.queries.push(query);
    const { clock, pageSize = 100, withState = true, repeatEvery = Infinity } = this.#options;
    const { answerMs = 0, cursorMs = Infinity } = this.#options;
    const [at = '0', begun = `${clock.monotonic() + answerMs}`] = query.cursor?.split('@') ?? [];
    if (answerMs > 0) await sleep(clock, answerMs, signal);
    this.beforeAnswer(query);
    if (clock.monotonic() - Number(begun) > cursorMs) throw new FakeServiceError('client_error');
    const skew = typeof this.#options.skew === 'function' ? this.#options.skew() : this.#options.skew;
    const { lateBy = () => 0, presentOnly = false, isDated = true } = this.#options;
    const now = clock.now() + (skew ?? 0);
    const there = this.entries.filter((entry) => entry.time + lateBy(entry) <= now);
    const matching = (presentOnly ? latestOf(there) : there).filter(
      ({ time, state, messageId }) =>
        time >= (query.fromDate ?? 0) &&
        time <= (query.toDate ?? Infinity) &&
        (query.messageId === undefined || query.messageId === messageId) &&
        (query.state === undefined || query.state === state),
    );
    const listed = this.#ordered(matching).flatMap((entry, at) =>
      Number.isFinite(repeatEvery) && at % repeatEvery === 1 ? [entry, entry] : [entry],
    );
    const start = Number(at);
    const next = start + pageSize;
    const page = listed.slice(start, next);
    const { invalid: kindOf = () => undefined } = this.#options;
    const rows = page.filter((entry) => kindOf(entry) === undefined);
    const invalid = page.flatMap((entry) => {
      const kind = kindOf(entry);
      if (kind === undefined) return [];
      const identity = `${entry.messageId} ${entry.state} ${entry.time}`;
      return [{ identity, ...(kind === 'timed' && { time: entry.time }) }];
    });
    return {
      value: rows.map(({ state, ...entry }) => (withState ? { ...entry, state } : entry)),
      dropped: invalid.length,
      invalid,
      ...(next < listed.length && { cursor: `${next}@${begun}` }),
      // As an HTTP date: whole seconds.
      ...(skew !== undefined && isDated && { servedAt: Math.floor(now / 1_000) * 1_000 }),
    };
  }

  #ordered(entries: readonly HistoryEntry[]): HistoryEntry[] {
    switch (this.#options.order ?? 'newest first') {
      case 'newest first':
        return entries.toSorted((a, b) => b.time - a.time);
      case 'oldest first':
        return entries.toSorted((a, b) => a.time - b.time);
      case 'none':
        return entries.toSorted((a, b) => ((a.time * 7_919) % 101) - ((b.time * 7_919) % 101));
    }
  }
}

function latestOf(entries: readonly HistoryEntry[]): HistoryEntry[] {
  const latest = new Map<string, HistoryEntry>();
  for (const entry of entries) {
    const known = latest.get(entry.messageId);
    if (known === undefined || entry.time >= known.time) latest.set(entry.messageId, entry);
  }
  return [...latest.values()];
}
