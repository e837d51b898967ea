/** Denied entries, counted by guard and reason. */
import type { Denial, Plan } from '#foundation/domain/plan.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';

/**
 * Maximum number of reasons. Others can write a part of a reason (a stamp's instance), so further reasons are counted
 * together.
 */
const MAX_REASONS = 200;

export class Tally {
  readonly #rows = new Map<string, { guard: string; reason: string; count: number; until: number }>();
  readonly #watched: string | undefined;
  /** Entries whose denial ends by itself. */
  readonly waiting = new Set<string>();
  /** Denial of the watched entry. */
  watchedDenial: Denial | undefined;

  /** @param watched dlqId of an entry whose own denial is required */
  constructor(watched?: string) {
    this.#watched = watched;
  }

  /** @param until epoch milliseconds when the reason ends */
  add(
    guard: string,
    reason: string,
    of: { readonly dlqId?: string; readonly until?: number; readonly count?: number } = {},
  ): void {
    const { dlqId, until = Infinity, count = 1 } = of;
    if (dlqId !== undefined && dlqId === this.#watched)
      this.watchedDenial = { guard, reason: withUntil(reason, until) };
    if (dlqId !== undefined && until !== Infinity) this.waiting.add(dlqId);
    const full = this.#rows.size >= MAX_REASONS && !this.#rows.has(`${guard}\0${reason}`);
    const shown = full ? 'other' : reason;
    const key = `${guard}\0${shown}`;
    const row = getOrAdd(this.#rows, key, () => ({ guard, reason: shown, count: 0, until: Infinity }));
    row.count += count;
    row.until = Math.min(row.until, until);
  }

  rows(): Plan['skipped'] {
    return [...this.#rows.values()]
      .sort((a, b) => b.count - a.count)
      .map(({ guard, reason, count, until }) => ({ guard, reason: withUntil(reason, until), count }));
  }
}

function withUntil(reason: string, until: number): string {
  return until === Infinity ? reason : `${reason}, next ${new Date(until).toISOString().slice(0, 16)}Z`;
}
