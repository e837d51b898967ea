/**
 * Traffic of a small online shop to an embedded service, over real HTTP as from any client. It sends some messages per
 * second, at a varying rate. Bursts of newsletters and charges make flow-control keys back up.
 *
 * The load is limited: few concurrent requests, and a growing pause after consecutive errors. Old entries of the dead
 * letter queues are deleted, so that a service that runs for days stays small.
 */
import { setMaxListeners } from 'node:events';
import type { Clock, Timer } from '#foundation/platform/clock.ts';
import type { Random } from '#foundation/platform/random.ts';
import { SampleClient } from './client.ts';
import {
  OPENING,
  pickKind,
  SAMPLE_FLOW_CONTROL_KEYS,
  SAMPLE_URL_GROUPS,
  sampleMessage,
  type SampleKind,
  type SampleMessage,
} from './messages.ts';

export interface SampleTrafficOptions {
  readonly emulatorUrl: string;
  /** Token of the account that publishes. */
  readonly token: string;
  /** `Svc`, or the prefix of the installation. */
  readonly headerPrefix: string;
  readonly management: {
    readonly accountId: string;
    readonly username: string;
    readonly password: string;
    /** `msgsvc` when absent. */
    readonly product?: string;
  };
  /** Monthly budget of the account, in dollars. */
  readonly budgetUsd?: number;
  readonly clock: Clock;
  readonly random: Random;
  /** Stops the traffic, as `stop` does. */
  readonly signal?: AbortSignal;
}

/** Publishes and triggers so far. `refused` counts those that were rejected or got no response. */
interface SampleCounts {
  readonly accepted: number;
  readonly refused: number;
  readonly inFlight: number;
}

export interface SampleTraffic extends AsyncDisposable {
  readonly searchIndexId: string;
  /** Id of a vector index. */
  readonly vectorIndexId: string;
  readonly urlGroups: readonly string[];
  readonly flowControlKeys: readonly string[];
  counts(): SampleCounts;
  /** Aborts requests in progress and sends nothing more. Idempotent. */
  stop(): Promise<void>;
}

const DEFAULT_BUDGET_USD = 150;

const MAX_IN_FLIGHT = 8;
/** Mean messages per second, outside of bursts, with the amplitude and period of its variation. */
const MEAN_RATE = 8;
const SWING = 2;
const SWING_MS = 240_000;

const BURSTS: readonly { readonly kind: SampleKind; readonly size: number; readonly everyMs: number }[] = [
  { kind: 'newsletter', size: 45, everyMs: 60_000 },
  { kind: 'charge', size: 24, everyMs: 85_000 },
];
/** Interval between the messages of a burst, and of the opening. */
const BURST_STEP_MS = 25;

const TIDY_EVERY_MS = 60_000;
const KEEP_DEAD_LETTERS_MS = 2 * 3_600_000;
const KEEP_FAILED_RUNS_MS = 6 * 3_600_000;

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

/**
 * Creates URL Groups and indexes, sets the budget, and starts to send.
 *
 * @throws {Error} when the service rejects one of the preparations, or with the signal's reason
 */
export async function startSampleTraffic(options: SampleTrafficOptions): Promise<SampleTraffic> {
  options.signal?.throwIfAborted();
  const stopping = new AbortController();
  // Every request in progress adds a listener.
  setMaxListeners(0, stopping.signal);
  const client = new SampleClient({ ...options, signal: stopping.signal });
  const sender = new Sender(client, options, stopping.signal);
  const end = async (reason: unknown): Promise<void> => {
    options.signal?.removeEventListener('abort', onAbort);
    stopping.abort(reason);
    await sender.idle();
    await client.close();
  };
  const onAbort = (): void => void end(options.signal?.reason);
  options.signal?.addEventListener('abort', onAbort, { once: true });
  const stop = (): Promise<void> => end(new Error('the sample traffic has stopped'));
  try {
    const indexes = await prepare(client, options);
    sender.begin();
    return {
      ...indexes,
      urlGroups: Object.keys(SAMPLE_URL_GROUPS),
      flowControlKeys: SAMPLE_FLOW_CONTROL_KEYS,
      counts: () => sender.counts(),
      stop,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await end(error);
    throw error;
  }
}

async function prepare(
  client: SampleClient,
  options: SampleTrafficOptions,
): Promise<{ readonly searchIndexId: string; readonly vectorIndexId: string }> {
  for (const [name, endpoints] of Object.entries(SAMPLE_URL_GROUPS)) {
    await client.message('POST', `/v2/topics/${name}/endpoints`, { body: { endpoints } });
  }
  const product = options.management.product ?? 'msgsvc';
  await client.management('PATCH', `/v2/${product}/update-budget/${encodeURIComponent(options.management.accountId)}`, {
    budget: options.budgetUsd ?? DEFAULT_BUDGET_USD,
  });
  const create = async (name: string): Promise<string> => {
    const record = await client.management('POST', '/v2/search', { name, region: 'eu-west-1', type: 'payg' });
    return String((record as { readonly id: unknown }).id);
  };
  return { searchIndexId: await create('products'), vectorIndexId: await create('recommendations') };
}

/** Paces the traffic. The tick timer sends each due message, except during a pause. */
class Sender {
  readonly #client: SampleClient;
  readonly #clock: Clock;
  readonly #random: Random;
  /** Messages sent before all others, one per step. */
  readonly #queue: SampleKind[] = [...OPENING];
  readonly #inFlight = new Set<Promise<void>>();
  readonly #timers = new Map<() => void, Timer>();
  readonly #startedAt: number;
  readonly #stopping: AbortSignal;
  #accepted = 0;
  #refused = 0;
  #refusedInARow = 0;
  /** Monotonic time before which nothing is sent. */
  #pausedUntil = 0;

  constructor(client: SampleClient, options: SampleTrafficOptions, stopping: AbortSignal) {
    this.#client = client;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#startedAt = options.clock.monotonic();
    this.#stopping = stopping;
    stopping.addEventListener('abort', () => {
      for (const timer of this.#timers.values()) timer.cancel();
      this.#timers.clear();
    });
  }

  begin(): void {
    // A stop in the meantime has canceled the timers, so none must be set after it.
    this.#stopping.throwIfAborted();
    this.#tick();
    for (const { kind, size, everyMs } of BURSTS) {
      // The first bursts are early, for users who watch the demo.
      this.#repeat(() => this.#burst(kind, size), { everyMs, firstAfterMs: everyMs / 6 });
    }
    this.#repeat(() => this.#tidy(), { everyMs: TIDY_EVERY_MS, firstAfterMs: TIDY_EVERY_MS });
  }

  counts(): SampleCounts {
    return { accepted: this.#accepted, refused: this.#refused, inFlight: this.#inFlight.size };
  }

  /** Resolves when no request is in progress. */
  async idle(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  readonly #tick = (): void => {
    const now = this.#clock.monotonic();
    const kind = this.#queue.shift();
    if (now >= this.#pausedUntil && this.#mayStart()) {
      this.#track(this.#send(sampleMessage(kind ?? pickKind(this.#random), this.#random)));
    } else if (kind !== undefined) {
      this.#queue.unshift(kind);
    }
    this.#arm(this.#tick, this.#queue.length > 0 ? BURST_STEP_MS : this.#gapMs(now));
  };

  /** Returns milliseconds to the next message. Intervals are those of independent customers, with an upper bound. */
  #gapMs(now: number): number {
    const rate = MEAN_RATE + SWING * Math.sin(((now - this.#startedAt) / SWING_MS) * 2 * Math.PI);
    return Math.min(1_000, (-Math.log(1 - this.#random()) / rate) * 1_000);
  }

  #burst(kind: SampleKind, size: number): void {
    // Skips the burst while the previous one is still queued.
    if (this.#queue.length > 0) return;
    this.#queue.push(...Array.from({ length: size }, () => kind));
    this.#arm(this.#tick, 0);
  }

  /** Repeats `run`. The interval varies by a quarter either way. */
  #repeat(
    run: () => void,
    { everyMs, firstAfterMs }: { readonly everyMs: number; readonly firstAfterMs: number },
  ): void {
    const fire = (): void => {
      run();
      this.#arm(fire, everyMs * (0.75 + 0.5 * this.#random()));
    };
    this.#arm(fire, firstAfterMs);
  }

  /** Sets the function's timer. Each function has one timer, so a new one replaces the pending one. */
  #arm(run: () => void, ms: number): void {
    this.#timers.get(run)?.cancel();
    this.#timers.set(run, this.#clock.after(ms, run));
  }

  async #send(message: SampleMessage): Promise<void> {
    try {
      await this.#client.message('POST', `/v2/${message.operation}/${message.destination}`, message);
      this.#accepted++;
      this.#refusedInARow = 0;
    } catch {
      if (this.#stopping.aborted) return;
      this.#refused++;
      const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#refusedInARow++);
      this.#pausedUntil = this.#clock.monotonic() + pause;
    }
  }

  /** Deletes old dead letters. Errors are ignored: the next call repeats the deletion. */
  #tidy(): void {
    const now = this.#clock.now();
    const old = [
      ['/v2/dlq', now - KEEP_DEAD_LETTERS_MS],
      ['/v2/workflows/dlq', now - KEEP_FAILED_RUNS_MS],
    ] as const;
    for (const [path, toDate] of old) {
      if (!this.#mayStart()) return;
      const request = this.#client.message('DELETE', `${path}?count=100&toDate=${toDate}`, {});
      this.#track(request.then(noop, noop));
    }
  }

  #mayStart(): boolean {
    return this.#inFlight.size < MAX_IN_FLIGHT;
  }

  #track(work: Promise<void>): void {
    this.#inFlight.add(work);
    void work.finally(() => this.#inFlight.delete(work));
  }
}

function noop(): void {
  // Result and error are both ignored.
}
