/**
 * Limits the number of series over all metrics. New series above the limit are rejected; known ones continue. Part of
 * the limit is reserved for the daemon's own metrics, so that a flood of series from the service cannot hide itself.
 *
 * A rejected total of the store stays rejected while the process runs. A later export would show only a part of it, and
 * after a restart the whole would look like an increase.
 */
import type { Child, SeriesTable } from './series.ts';

/** Share of the limit reserved for the daemon's own metrics, and its minimum. */
const OWN_SHARE = 0.1;
const OWN_LEAST = 1_000;

/** Maximum number of rejected totals to remember. Above it, every new total is rejected. */
const REMEMBERED = 10_000;

export interface SeriesLimitOptions {
  readonly max: number;
  /** Called for each rejection. */
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

  /** @returns undefined if the limit is reached */
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
    // Without its own labels, a metric has one series per account.
    const isOwn = !name.startsWith('msgsvc_') || labelNames.length <= 1;
    return isOwn ? max : max - Math.max(OWN_LEAST, Math.floor(max * OWN_SHARE));
  }
}
