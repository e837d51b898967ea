/** Events of one account, counted by minute and by day. Usage, traffic and billing are computed from them. */
import type { Fact } from './facts.ts';
import { MinuteRing } from './minute-ring.ts';
import { dayOf, MINUTE_MS } from './point-time.ts';

/** Columns of the counts: five outcomes of published messages, the same five of workflows, and runs. */
export const CREATED = 0;
export const DELIVERED = 1;
export const RETRY = 2;
export const FAILED = 3;
export const CANCELED = 4;
export const WORKFLOW = 5;
export const RUNS = 10;
const COLUMNS = 11;
/**
 * Columns that only daily totals have: bytes, which minutes keep separately, and attempts that are billed individually.
 */
export const BYTES = 11;
export const PAID = 12;
export const PAID_WORKFLOW = 13;

const ATTEMPT_COLUMNS = { delivered: DELIVERED, retry: RETRY, failed: FAILED } as const;

/** Number of days with totals: this month, the previous one, and a margin. */
const DAYS_KEPT = 70;

export class AccountCounts {
  readonly minutes = new MinuteRing(COLUMNS);
  /** Totals by day since the epoch, kept apart from the minutes: the ring holds less than a month of 31 days. */
  readonly #days = new Map<number, Float64Array>();

  /** Counts a fact `times` times. `isPaid` is true for an attempt that is billed individually. */
  record(fact: Fact, times: number, isPaid: boolean): void {
    const minute = Math.floor(fact.at / MINUTE_MS);
    const totals = this.#totalsOf(dayOf(fact.at));
    const kind = fact.workflow ? WORKFLOW : 0;
    this.#add(minute, totals, kind + outcomeOf(fact), times);
    if (fact.kind === 'created' && fact.run) this.#add(minute, totals, RUNS, times);
    if (isPaid) totals[fact.workflow ? PAID_WORKFLOW : PAID]! += times;
    if (fact.kind !== 'canceled' && fact.bytes > 0) {
      this.minutes.addBytes(minute, fact.bytes * times);
      totals[BYTES]! += fact.bytes * times;
    }
  }

  /** Returns the totals of a day since the epoch, undefined if nothing happened on it. */
  day(day: number): Float64Array | undefined {
    return this.#days.get(day);
  }

  #add(minute: number, totals: Float64Array, column: number, times: number): void {
    this.minutes.add(minute, column, times);
    totals[column]! += times;
  }

  #totalsOf(day: number): Float64Array {
    const known = this.#days.get(day);
    if (known !== undefined) return known;
    const totals = new Float64Array(COLUMNS + 3);
    this.#days.set(day, totals);
    if (this.#days.size > DAYS_KEPT) this.#days.delete(Math.min(...this.#days.keys()));
    return totals;
  }
}

function outcomeOf(fact: Fact): number {
  if (fact.kind === 'created') return CREATED;
  if (fact.kind === 'canceled') return CANCELED;
  return ATTEMPT_COLUMNS[fact.outcome];
}
