/** Attempts that ended, gathered from the fresh entries of one window. */
import type { EndedAttempts } from '../domain/ended-attempts.ts';
import { getOrAdd } from '../platform/get-or-add.ts';
import { hostOf } from './destination.ts';
import type { StatedEntry } from './log-entry.ts';

const MINUTE_MS = 60_000;

type Counts = { -readonly [K in keyof EndedAttempts]: EndedAttempts[K] };

export class AttemptsByHost {
  readonly #hosts = new Map<string, Map<number, Counts>>();

  /** @param entry tells of an attempt that ended: DELIVERED, ERROR, or a FAILED that no ERROR told of */
  add({ url, state, time }: StatedEntry): void {
    const host = url === undefined ? undefined : hostOf(url);
    if (host === undefined) return;
    const minute = Math.floor(time / MINUTE_MS) * MINUTE_MS;
    const minutes = getOrAdd(this.#hosts, host, () => new Map<number, Counts>());
    const counts = getOrAdd(minutes, minute, () => ({ host, minute, delivered: 0, failed: 0 }));
    if (state === 'DELIVERED') counts.delivered += 1;
    else counts.failed += 1;
  }

  all(): EndedAttempts[] {
    return [...this.#hosts.values()].flatMap((minutes) => [...minutes.values()]);
  }
}
