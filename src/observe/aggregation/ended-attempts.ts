/** Collects the ended attempts from the new entries of one window. */
import type { EndedAttempts } from '#foundation/domain/ended-attempts.ts';
import { NewestFailures } from '#foundation/domain/newest-failures.ts';
import { failureReason } from '#foundation/domain/reason.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { hostOf } from './destination.ts';
import type { StatedEntry } from './log-entry.ts';

const MINUTE_MS = 60_000;

const NONE = { delivered: 0, failed: 0, failedFrom: Infinity, lost: 0 };

type Counts = { -readonly [K in Exclude<keyof EndedAttempts, 'reasons'>]: EndedAttempts[K] } & {
  readonly reasons: Map<string, number>;
};

export class AttemptsByHost {
  readonly failures = new NewestFailures();
  readonly #hosts = new Map<string, Map<number, Counts>>();

  /** @param entry reports an ended attempt: DELIVERED, ERROR, or a FAILED without an ERROR */
  add(entry: StatedEntry): void {
    if (entry.state !== 'DELIVERED') this.failures.add(entry);
    const counts = this.#of(entry);
    if (counts === undefined) return;
    if (entry.state === 'DELIVERED') {
      counts.delivered += 1;
      return;
    }
    counts.failed += 1;
    counts.failedFrom = Math.min(counts.failedFrom, entry.time);
    const reason = failureReason(entry.responseStatus, entry.error);
    const name = reason === 'http' ? `HTTP ${entry.responseStatus}` : reason;
    counts.reasons.set(name, (counts.reasons.get(name) ?? 0) + 1);
  }

  /** Counts a message that finally failed. Its last attempt is counted separately. */
  addLost(entry: StatedEntry): void {
    this.failures.add(entry);
    const counts = this.#of(entry);
    if (counts !== undefined) counts.lost += 1;
  }

  all(): EndedAttempts[] {
    return [...this.#hosts.values()].flatMap((minutes) => [...minutes.values()]);
  }

  #of({ url, time }: StatedEntry): Counts | undefined {
    const host = url === undefined ? undefined : hostOf(url);
    if (host === undefined) return undefined;
    const minute = Math.floor(time / MINUTE_MS) * MINUTE_MS;
    const minutes = getOrAdd(this.#hosts, host, () => new Map<number, Counts>());
    return getOrAdd(minutes, minute, () => ({ host, minute, ...NONE, reasons: new Map() }));
  }
}
