/**
 * How many series there may be, over all metrics. What exceeds is refused and what is known goes on. The last of the
 * room is kept for what the daemon says of itself, so that a flood of the service's series does not hide that there is
 * one.
 *
 * A total of the store that was refused stays so while the process runs: what it would show later is only a part of it,
 * and after a restart the whole would read as an increase.
 */
import type { Child, SeriesTable } from './series.ts';

/** Of the room, for the daemon's own metrics: a tenth, and as much as they need at least. */
const OWN_SHARE = 0.1;
const OWN_LEAST = 1_000;

/** Refused totals that are remembered. Beyond it every new one is refused. */
const REMEMBERED = 10_000;

export interface SeriesLimitOptions {
  readonly max: number;
  /** Told of each refusal. */
  readonly onRefused: (metric: string) => void;
}

export class SeriesLimit {
  readonly #options: SeriesLimitOptions;
  readonly #refused = new Set<string>();
  #total = 0;

  constructor(options: SeriesLimitOptions) {
    this.#options = options;
  }

  get total(): number {
    return this.#total;
  }

  /** @returns undefined when there is no room for it */
  create(table: SeriesTable, labels: string, options?: Parameters<SeriesTable['create']>[1]): Child | undefined {
    if (!this.#mayCreate(table, labels)) {
      this.#options.onRefused(table.name);
      return undefined;
    }
    this.#total += table.seriesOfChild;
    return table.create(labels, options);
  }

  remove(table: SeriesTable, child: Child): void {
    this.#total -= table.seriesOfChild;
    table.remove(child);
  }

  #mayCreate(table: SeriesTable, labels: string): boolean {
    const isTotal = table.spec.mirrored === true;
    const key = `${table.name}{${labels}`;
    if (isTotal && this.#refused.has(key)) return false;
    const fits = this.#total + table.seriesOfChild <= this.#roomFor(table);
    if (!isTotal) return fits;
    if (fits && this.#refused.size < REMEMBERED) return true;
    if (this.#refused.size < REMEMBERED) this.#refused.add(key);
    return false;
  }

  #roomFor({ name, labelNames }: SeriesTable): number {
    const { max } = this.#options;
    // Without labels of its own it is one series an account.
    const isOwn = !name.startsWith('msgsvc_') || labelNames.length <= 1;
    return isOwn ? max : max - Math.max(OWN_LEAST, Math.floor(max * OWN_SHARE));
  }
}
