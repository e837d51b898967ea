/**
 * Series of all metrics in the catalog, addressed by metric and exported labels. A series is created on its first
 * write, within the limit of all series.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import { OWN_METRIC_NAMES, labelNamesOf, specOf, type MetricName } from '../catalog/catalog.ts';
import { labelText, parseLabels } from './exposition-text.ts';
import { HeldCounters } from './held-counters.ts';
import { increase, observe, release, SeriesTable, setValue, type Child, type ShownExemplar } from './series.ts';
import { SeriesLimit } from './series-limit.ts';

/** Observations that were made elsewhere. */
export interface HistogramCounts {
  readonly buckets: readonly number[];
  readonly sum: number;
  readonly exemplars?: readonly (ShownExemplar | undefined)[];
}

/** Current counters and histograms, for the next daemon in the same process. */
export type HandedCounts = ReadonlyMap<string, readonly Omit<Child, 'chunk'>[]>;

/** Sources whose totals count since the start of the process or, for the limiter, since a reload. */
const OF_PROCESS: ReadonlySet<string> = new Set(['logger', 'limiter', 'lease']);
/** Source of the series that every replica exports for every account. */
const OF_ALL = 'lease';

export interface FamilyTablesOptions {
  readonly clock: Clock;
  /** Time that a new counter is exported as 0. */
  readonly zeroForMs: number;
  /** Counts of earlier daemons in this process. Counting continues from them for the accounts that still exist. */
  readonly handed?: HandedCounts;
  readonly accounts?: readonly string[];
  /** Maximum number of series over all metrics. */
  readonly maxSeries: number;
  /** Called when a label set is not exported because the limit is reached. */
  readonly onRefused: (metric: string) => void;
  /** True if the metrics for developers of the daemon are exported, too. */
  readonly debug: boolean;
}

export class FamilyTables {
  readonly held: HeldCounters;
  readonly #options: FamilyTablesOptions;
  readonly #tables = new Map<MetricName, SeriesTable>();
  readonly #limit: SeriesLimit;
  readonly #withdrawn = new Set<string>();
  #isRemoving = false;
  #created = { at: Number.NaN, text: '' };

  constructor(options: FamilyTablesOptions) {
    this.#options = options;
    this.held = new HeldCounters(options.clock, options.zeroForMs);
    this.#limit = new SeriesLimit({ max: options.maxSeries, onRefused: options.onRefused });
    for (const name of OWN_METRIC_NAMES) {
      const table = new SeriesTable(name, specOf(name), labelNamesOf(name));
      this.#tables.set(name, table);
      this.#takeOver(table);
      // A gauge without labels is absent until it is set. A total is absent until the store was read.
      const isAbsent = table.spec.type === 'gauge' || table.spec.mirrored === true;
      if (table.labelNames.length === 0 && !isAbsent) this.#counting(table, '', false);
    }
  }

  of(metric: MetricName): SeriesTable {
    return this.#tables.get(metric)!;
  }

  exposed(): readonly SeriesTable[] {
    return [...this.#tables.values()].filter((table) => !this.#isHidden(table));
  }

  /**
   * @param restored true if the count is from before this process: it is not new, and its start of counting is unknown
   */
  count(table: SeriesTable, labels: string, by: number, restored = false): void {
    const child = this.#counting(table, labels, restored);
    if (child !== undefined) increase(child, by);
  }

  observe(table: SeriesTable, labels: string, added: HistogramCounts, restored = false): void {
    const child = this.#counting(table, labels, restored);
    if (child !== undefined) observe(child, added);
  }

  set(table: SeriesTable, labels: string, value: number): void {
    const child = table.find(labels) ?? this.#create(table, labels);
    if (child !== undefined) setValue(child, value);
  }

  /** Starts a counter again at 0. It is not held: scrapers must see the reset. */
  restart(table: SeriesTable, labels: string): void {
    const known = table.find(labels);
    if (known !== undefined) this.remove(table, known);
    this.#create(table, labels, { created: this.#nowText() });
  }

  remove(table: SeriesTable, child: Child): void {
    this.held.delete(child);
    this.#limit.remove(table, child);
  }

  /** Removes the counters and histograms of a label value. */
  drop(account: string, label: string, value: string): void {
    const part = labelText(label, value);
    for (const table of this.#tables.values()) {
      if (table.spec.type === 'gauge' || !table.labelNames.includes(label)) continue;
      for (const child of table.children()) {
        // Another label's value may contain the same text. This check only avoids most of the parsing.
        if (!child.labels.includes(part)) continue;
        const labels = parseLabels(child.labels);
        if (labels[label] === value && (labels['account'] ?? '') === account) this.remove(table, child);
      }
    }
  }

  /**
   * Removes all series of an account at the end of this turn, and admits no others of it. Hundreds of accounts may be
   * withdrawn in one turn, and all of them need only one walk over the series.
   */
  withdraw(account: string): void {
    this.#withdrawn.add(labelText('account', account));
    if (this.#isRemoving) return;
    this.#isRemoving = true;
    queueMicrotask(() => this.#removeWithdrawn());
  }

  /** Returns the counts that only this process has: neither those in the store nor those of the process itself. */
  handOver(): HandedCounts {
    return new Map(
      [...this.#tables.values()]
        .filter(({ spec }) => spec.type !== 'gauge' && spec.mirrored !== true && !OF_PROCESS.has(spec.source))
        .map((table) => [table.name, [...table.children()]]),
    );
  }

  #takeOver(table: SeriesTable): void {
    const { handed, accounts } = this.#options;
    for (const { labels, value, created, held, buckets, exemplars } of handed?.get(table.name) ?? []) {
      if (table.spec.account && !accounts?.includes(parseLabels(labels)['account'] ?? '')) continue;
      const child = this.#create(table, labels, { held, ...(created !== undefined && { created }) });
      if (child === undefined) continue;
      if (buckets === undefined) increase(child, value);
      else observe(child, { buckets, sum: value, ...(exemplars !== undefined && { exemplars }) });
      if (held) this.held.add(child);
    }
  }

  #removeWithdrawn(): void {
    this.#isRemoving = false;
    for (const table of this.#tables.values()) {
      for (const child of table.children()) if (this.#isWithdrawn(table, child.labels)) this.remove(table, child);
    }
  }

  #isWithdrawn({ spec }: SeriesTable, labels: string): boolean {
    if (this.#withdrawn.size === 0 || !spec.account || spec.source === OF_ALL) return false;
    // The account is the first label, and no name has a character that is escaped.
    return this.#withdrawn.has(labels.slice(0, labels.indexOf('"', 'account="'.length) + 1));
  }

  #isHidden({ spec }: SeriesTable): boolean {
    return spec.debug === true && !this.#options.debug;
  }

  /** Returns undefined if the metric is not exported. */
  #create(table: SeriesTable, labels: string, options?: Parameters<SeriesTable['create']>[1]): Child | undefined {
    if (this.#isHidden(table) || this.#isWithdrawn(table, labels)) return undefined;
    return this.#limit.create(table, labels, options);
  }

  /** Returns the counter or histogram with these labels. Creates it if there is none. */
  #counting(table: SeriesTable, labels: string, restored: boolean): Child | undefined {
    const known = table.find(labels);
    if (known !== undefined) {
      if (restored) this.#unhold(known);
      return known;
    }
    if (restored) return this.#create(table, labels);
    const held = this.held.holdsNew;
    const child = this.#create(table, labels, { created: this.#nowText(), held });
    if (held && child !== undefined) this.held.add(child);
    return child;
  }

  /** Releases a child whose count is from before this process. A 0 first would make all of it look like an increase. */
  #unhold(child: Child): void {
    release(child);
    child.created = undefined;
    this.held.delete(child);
  }

  /** Returns the current time as one shared text for all children created at once. */
  #nowText(): string {
    const now = this.#options.clock.now();
    if (now !== this.#created.at) this.#created = { at: now, text: `${now / 1_000}` };
    return this.#created.text;
  }
}
