/**
 * What others do with the service: requests that change something, and deliveries to their servers. Either can cause the
 * next one a moment later, so time that skips waits until nothing of it happens.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import { nextTurn } from '#foundation/platform/next-turn.ts';
import { sleep } from '#foundation/platform/sleep.ts';

/** Parts of the quiet time. A process that stands still, in a debugger or without a processor, uses up only one. */
const PARTS = 4;

export class Activity {
  readonly #realTime: Clock;
  readonly #quietMs: number;
  readonly #requests = new Map<symbol, string>();
  #events = 0;
  #isCalm = true;

  /** @param quietMs real milliseconds without activity after which no more is expected */
  constructor(realTime: Clock, quietMs: number) {
    this.#realTime = realTime;
    this.#quietMs = quietMs;
  }

  /** Names of the requests in progress. */
  get requests(): readonly string[] {
    return [...this.#requests.values()];
  }

  get isCalm(): boolean {
    return this.#isCalm && this.#requests.size === 0;
  }

  /** Begins a request. The returned function ends it. */
  begin(name: string): () => void {
    const key = Symbol(name);
    this.#requests.set(key, name);
    this.happened();
    return () => {
      if (this.#requests.delete(key)) this.happened();
    };
  }

  /** Reports an event, for example the end of a delivery to a server of others. */
  happened(): void {
    this.#events++;
    this.#isCalm = false;
  }

  /** Resolves when nothing is in progress, and nothing has happened for the quiet time. */
  async calm(): Promise<void> {
    while (!this.isCalm) {
      const before = this.#events;
      for (let part = 0; part < PARTS && this.#events === before; part++) {
        await sleep(this.#realTime, this.#quietMs / PARTS, NEVER);
        // What arrived while the process stood still is read before the next part.
        await nextTurn();
      }
      this.#isCalm = this.#events === before && this.#requests.size === 0;
    }
  }
}

const NEVER = new AbortController().signal;
