/**
 * Connection to one API of an account: credentials, daily budget, token bucket, deadline, retries, and an event for
 * each request. Reads and writes are separate methods, so that a write can never be repeated.
 */
import type { ServiceErrorCode } from '#foundation/domain/service-error.ts';
import type { ClientPair } from '#foundation/platform/client-pair.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Api, EventBus } from '#foundation/events/events.ts';
import { memoByText } from '#foundation/platform/memo.ts';
import type { Random } from '#foundation/platform/random.ts';
import { freeBytes } from '#foundation/platform/gathered-bytes.ts';
import { withTimeout } from '#foundation/platform/sleep.ts';
import { AnswerMemory } from './answer-memory.ts';
import type { Answer } from './api.ts';
import { exchangeError, serviceError, serviceText, statusCode, statusError, type RequestPlace } from './classify.ts';
import type { Credentials } from './credentials.ts';
import { DailyBudget } from './daily-budget.ts';
import { Holds } from './holds.ts';
import { keptUse, type LoadedUse } from './kept-use.ts';
import { Drops, MalformedAnswer } from './parse/reader.ts';
import { first, readRateLimits, type RateLimits } from './rate-limit-headers.ts';
import { withRetries } from './retry.ts';
import { ServiceError } from './service-error.ts';
import type { ClientSettings } from './settings.ts';
import { TokenBucket } from './token-bucket.ts';
import {
  sendOnce,
  ExchangeError,
  openConnections,
  type OriginConnections,
  type HttpExchange,
  type HttpAnswer,
} from './transport.ts';

const CONNECTIONS = 32;
const USER_AGENT = 'msgsvc-opsd';

/** Call as described by an operation. */
export interface ApiCall<T> {
  /** Name as in `opsd api`, such as `list-logs`. */
  readonly operation: string;
  /** Path from `/v2` on, encoded, with the query. */
  readonly path: string;
  /** Path for messages if the real one may contain secrets. Default: the path without its query. */
  readonly shownPath?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Texts of this request that must not appear in a message. */
  readonly hidden?: readonly string[];
  /** True if a read needs the credential of writes. */
  readonly actsAsWriter?: true;
  /** @throws {MalformedAnswer} if the response does not match the interface */
  readonly parse: (body: Buffer, drops: Drops, head: AnswerHead) => T;
}

/** Response without its body. */
export interface AnswerHead {
  readonly status: number;
  readonly contentType: string | undefined;
  /** Credentials of the request, which must not leave the client with the response. */
  readonly secrets: readonly string[];
}

/** Call with its method. */
export interface SentCall<T> extends ApiCall<T> {
  readonly method: HttpExchange['method'];
}

export interface ConnectionOptions {
  readonly account: string;
  readonly api: Api;
  readonly baseUrl: string;
  readonly credentials: Credentials;
  /** Returns the client certificate. */
  readonly client?: (() => ClientPair) | undefined;
  readonly limits: ClientSettings;
}

export interface ConnectionDeps {
  readonly clock: Clock;
  readonly events: EventBus;
  readonly random: Random;
  /** Stored daily request counts. Without them, each process counts separately. */
  readonly requestUse?: LoadedUse;
  /** Memory limit shared by all connections of the process. */
  readonly answers?: AnswerMemory;
  /** Waits that the service requests, shared by all connections of the process. */
  readonly holds?: Holds;
  /**
   * Returns the reason why a request that lasts up to `timeoutMs` must not start now; undefined if it may. Absent if
   * the process is the only one that sends requests for the account.
   */
  readonly mayStart?: (timeoutMs: number) => string | undefined;
}

export class ApiConnection implements AsyncDisposable {
  readonly #options: ConnectionOptions;
  readonly #deps: ConnectionDeps;
  #connections: Promise<OriginConnections> | undefined;
  readonly #origin: string;
  /** Path prefix of the base URL, without a trailing slash. */
  readonly #prefix: string;
  readonly #bucket: TokenBucket;
  readonly #budget: DailyBudget;
  readonly #answers: AnswerMemory;
  readonly #holds: Holds;
  readonly #underWay = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  constructor(options: ConnectionOptions, deps: ConnectionDeps) {
    this.#options = options;
    this.#deps = deps;
    const url = new URL(options.baseUrl);
    this.#origin = url.origin;
    this.#prefix = url.pathname.replace(/(?<!\/)\/+$/, '');
    this.#bucket = new TokenBucket(options.limits.requestsPerSecond, deps.clock);
    this.#budget = new DailyBudget(
      options.limits.requestsPerDay,
      deps.clock,
      deps.requestUse && keptUse(options, deps.requestUse, deps.events),
    );
    this.#answers = deps.answers ?? new AnswerMemory();
    this.#holds = deps.holds ?? new Holds(deps.clock);
  }

  /** Returns the credentials of this connection. */
  secrets(): readonly string[] {
    return [true, false].flatMap((write) => this.#options.credentials({ write }).secrets);
  }

  /**
   * Sends a GET and retries it if that may help.
   *
   * @throws {ServiceError}
   * @throws the signal's reason if it was aborted while nothing was being sent
   */
  async read<T>(call: ApiCall<T>, signal: AbortSignal): Promise<Answer<T>> {
    const { clock, events, random } = this.#deps;
    const { account, api } = this.#options;
    return withRetries(
      {
        clock,
        random,
        signal,
        mayRepeat: () => this.#closed === undefined && this.#budget.isLeft,
        onRepeat: (delayMs) => events.emit({ type: 'api.retry', account, api, operation: call.operation, delayMs }),
      },
      () => this.#attempt({ ...call, method: 'GET' }, signal),
    );
  }

  /** Sends a write once. Throws as `read` does. */
  async write<T>(call: SentCall<T>, signal: AbortSignal): Promise<Answer<T>> {
    return this.#attempt(call, signal);
  }

  usage(): { readonly usedToday: number; readonly allowedPerDay: number } {
    return { usedToday: this.#budget.usedToday, allowedPerDay: this.#budget.allowedPerDay };
  }

  /** Waits for current requests, which the deadline bounds, and closes the connections. Idempotent. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= Promise.allSettled(this.#underWay).then(async () => {
      await this.#budget.close();
      (await this.#connections)?.[Symbol.dispose]();
    });
    return this.#closed;
  }

  async #attempt<T>(call: SentCall<T>, signal: AbortSignal): Promise<Answer<T>> {
    signal.throwIfAborted();
    const connections = await (this.#connections ??= openConnections(this.#origin, CONNECTIONS, this.#options.client));
    const place = this.#placeOf(call);
    // Both are checked before the wait, so that no call queues in vain. The budget is charged after the wait, so that an
    // aborted call costs nothing.
    this.#throwIfHeld(place);
    if (!this.#budget.isLeft) throw this.#budgetError(place);
    // A write is one entry of a repair. It does not have to queue behind a listing of fifty pages.
    const waitMs = await this.#bucket.take(signal, call.method !== 'GET');
    const { account, api } = this.#options;
    if (waitMs > 0) this.#deps.events.emit({ type: 'api.throttled', account, api, waitMs });
    // Another request may have been rejected during the wait.
    this.#throwIfHeld(place);
    const authorization = this.#authorization(call, place);
    if (!(await this.#budget.take())) throw this.#budgetError(place);
    // The client may have been closed while the count was stored.
    signal.throwIfAborted();
    if (this.#closed !== undefined) {
      throw serviceError(place, { code: 'aborted', what: 'the client is closed', effect: 'none' });
    }
    // Last, because each wait above takes time from the lease.
    const notNow = this.#deps.mayStart?.(this.#options.limits.timeout);
    if (notNow !== undefined) {
      throw serviceError(place, { code: 'lease', what: `${notNow}; the request was not sent`, effect: 'none' });
    }
    const work = this.#request(
      call,
      { ...place, hidden: [...place.hidden, ...authorization.secrets] },
      { connections, authorization: authorization.header, signal },
    );
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }

  /** Sends one request and counts it, regardless of its result. */
  async #request<T>(
    call: SentCall<T>,
    place: RequestPlace,
    {
      connections,
      authorization,
      signal,
    }: { readonly connections: OriginConnections; readonly authorization: string; readonly signal: AbortSignal },
  ): Promise<Answer<T>> {
    const { clock, events } = this.#deps;
    const { account, api, limits } = this.#options;
    const startedAt = clock.monotonic();
    let servedAt: number | undefined;
    const finish = (code: number | 'error', bytes: number, failure?: ServiceErrorCode): void => {
      const durationMs = clock.monotonic() - startedAt;
      events.emit({
        type: 'api.request',
        account,
        api,
        operation: call.operation,
        method: call.method,
        url: place.url,
        code,
        durationMs,
        bytes,
        failure,
        clockSkewMs: servedAt === undefined ? undefined : skewOf(clock.now() - servedAt, durationMs),
      });
    };

    using reading = this.#answers.begin();
    let answer: HttpAnswer;
    try {
      answer = await withTimeout(clock, limits.timeout, signal, (deadline) =>
        sendOnce(connections, this.#exchangeOf(call, authorization), {
          maxBytes: limits.maxResponseBytes,
          reading,
          signal: deadline,
        }),
      );
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error;
      const failed = exchangeError(place, error, signal);
      finish(error.status ?? 'error', error.bytes, failed instanceof ServiceError ? failed.code : 'client_error');
      // Nothing was being sent. For the caller, the call never started.
      if (!error.sent && signal.aborted && error.cause === signal.reason) throw signal.reason;
      throw failed;
    }

    servedAt = servedAtOf(answer);
    const rateLimits = this.#noteLimits(answer, { servedAt, startedAt, isWrite: call.method !== 'GET' });
    try {
      const parsed = this.#understand(call, place, { answer, rateLimits });
      finish(answer.status, answer.bytes);
      return { ...parsed, servedAt };
    } catch (error) {
      if (error instanceof ServiceError) finish(answer.status, answer.bytes, error.code);
      throw error;
    } finally {
      freeBytes(answer.body);
    }
  }

  #understand<T>(
    call: SentCall<T>,
    place: RequestPlace,
    { answer, rateLimits }: { readonly answer: HttpAnswer; readonly rateLimits: RateLimits },
  ): Answer<T> {
    const { status, body } = answer;
    const coding = codingOf(answer);
    const isGood = status >= 200 && status <= 299;
    if (!isGood) {
      const text = coding === undefined ? serviceText(body) : `its text has the content coding ${coding}`;
      throw statusError(place, status, text, rateLimits.retryAfterMs);
    }
    if (coding !== undefined) {
      const what = `the response has the content coding ${coding}, although the request allows none`;
      const advice = 'turn off the compression of the proxy before the service';
      throw serviceError(place, { code: 'malformed', what, effect: 'possible', status, advice });
    }
    const drops = new Drops();
    let value: T;
    try {
      const contentType = first(answer.headers['content-type']);
      value = call.parse(body, drops, { status, contentType, secrets: place.hidden });
    } catch (error) {
      if (!(error instanceof MalformedAnswer)) throw error;
      const what = `the response (status ${status}, ${body.length} bytes) does not match the interface: ${error.message}`;
      throw serviceError(place, { code: 'malformed', what, effect: 'possible', status });
    }
    if (drops.count > 0) {
      const { count, values, example } = drops;
      const { account } = this.#options;
      this.#deps.events.emit({ type: 'api.invalid_rows', account, operation: call.operation, count, values, example });
    }
    return { value, dropped: drops.count };
  }

  #noteLimits(
    answer: HttpAnswer,
    {
      servedAt,
      startedAt,
      isWrite,
    }: { readonly servedAt?: number | undefined; readonly startedAt: number; readonly isWrite: boolean },
  ): RateLimits {
    const rateLimits = readRateLimits(answer.headers, servedAt ?? this.#deps.clock.now());
    const { retryAfterMs } = rateLimits;
    if (retryAfterMs !== undefined) this.#holds.note(this.#held, isWrite, answer.status, retryAfterMs);
    if (answer.status === 429) this.#bucket.slowDown(startedAt);
    else if (answer.status < 400) this.#bucket.recover();
    const { account, api } = this.#options;
    for (const { window, remaining } of rateLimits.remaining) {
      this.#deps.events.emit({ type: 'api.rate_limit', account, api, window, remaining });
    }
    return rateLimits;
  }

  #exchangeOf(call: SentCall<unknown>, authorization: string): HttpExchange {
    return {
      method: call.method,
      path: this.#prefix + call.path,
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        'user-agent': USER_AGENT,
        ...call.headers,
        authorization,
      },
      body: call.body,
    };
  }

  #placeOf(call: SentCall<unknown>): RequestPlace {
    const shown = call.shownPath ?? call.path.split('?', 1)[0]!;
    const url = `${this.#origin}${this.#prefix}${shown}`;
    return { operation: call.operation, method: call.method, url, hidden: call.hidden ?? [] };
  }

  #authorization(call: SentCall<unknown>, place: RequestPlace): ReturnType<Credentials> {
    try {
      return this.#options.credentials({ write: call.method !== 'GET' || call.actsAsWriter === true });
    } catch (cause) {
      const what = cause instanceof Error ? cause.message : 'the credential cannot be read';
      throw serviceError(place, {
        code: 'unauthorized',
        what: `${what}; the request was not sent`,
        effect: 'none',
        cause,
      });
    }
  }

  /** Key of the waits that the service requests. */
  get #held(): string {
    const { account, api } = this.#options;
    return `${account} ${api} ${this.#origin}`;
  }

  /** @throws {ServiceError} if a wait that the service requested is not over */
  #throwIfHeld(place: RequestPlace): void {
    const held = this.#holds.left(this.#held, place.method !== 'GET');
    if (held === undefined) return;
    const { ms: retryAfterMs, status } = held;
    throw serviceError(place, {
      code: statusCode(status),
      what: `the service answered ${status} to an earlier request; this one was not sent`,
      effect: 'none',
      status,
      retryAfterMs,
    });
  }

  #budgetError(place: RequestPlace): ServiceError {
    return serviceError(place, {
      code: 'budget',
      what: `all ${this.#budget.allowedPerDay} requests that client.requestsPerDay allows for this UTC day are used`,
      effect: 'none',
      retryAfterMs: this.#budget.resetsInMs,
    });
  }
}

/** Parser of dates. All responses of one second have the same text. */
const timeOf = memoByText(16, Date.parse);

function servedAtOf(answer: HttpAnswer): number | undefined {
  const at = timeOf(first(answer.headers['date']) ?? '');
  return Number.isNaN(at) ? undefined : at;
}

/** Returns the content coding of a response, such as `gzip`; undefined if it has none. */
function codingOf({ headers }: HttpAnswer): string | undefined {
  const coding = first(headers['content-encoding'])?.toLowerCase() ?? '';
  if (coding === '' || coding === 'identity') return undefined;
  return /^[\w-]{1,20}$/.test(coding) ? coding : 'unknown';
}

/**
 * Returns the clock skew. A response was written at some time during its request, so a long request is not mistaken for
 * a clock that is ahead.
 */
function skewOf(ahead: number, durationMs: number): number {
  return ahead > 0 ? Math.max(0, ahead - durationMs) : ahead;
}
