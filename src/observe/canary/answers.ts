/** Hosts that have answered the daemon recently, from the events of the client. */
import type { EventBus } from '#foundation/events/events.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { isLoopback } from '#foundation/platform/private-address.ts';

/** Age at which an answer no longer proves that the network works. */
const RECENT_MS = 60_000;

export class CanaryAnswers implements Disposable {
  readonly #clock: Clock;
  readonly #hearing: Disposable;
  /** Monotonic time of the last response, by origin. */
  readonly #origins = new Map<string, number>();
  /** Accounts whose message API has answered a request without an error. */
  readonly #known = new Set<string>();

  constructor(events: EventBus, clock: Clock) {
    this.#clock = clock;
    this.#hearing = events.subscribe((event) => {
      if (event.type !== 'api.request') return;
      const origin = URL.parse(event.url)?.origin;
      if (origin !== undefined && event.code !== 'error') this.#origins.set(origin, clock.monotonic());
      if (event.api === 'message' && event.failure === undefined) this.#known.add(event.account);
    });
  }

  isKnownService(account: string): boolean {
    return this.#known.has(account);
  }

  /** Returns true if another host than that of `apiUrl` has answered, and the way to it is as far. */
  othersAnswer(apiUrl: string): boolean {
    const own = URL.parse(apiUrl)?.origin;
    const isLocal = isLocalUrl(apiUrl);
    return [...this.#origins].some(
      ([origin, at]) => origin !== own && (isLocal || !isLocalUrl(origin)) && this.#clock.monotonic() - at <= RECENT_MS,
    );
  }

  [Symbol.dispose](): void {
    this.#hearing[Symbol.dispose]();
  }
}

/** Returns true if a URL leads to this machine. */
export function isLocalUrl(url: string): boolean {
  return isLoopback(URL.parse(url)?.hostname ?? '');
}
