/**
 * Limits the number of label values. A value from outside is cleaned, and exported if it has a place. Values in the
 * configuration get their places first, then values in the order of arrival, up to a limit per account. All others are
 * counted as `other`. Places are stored, so that a restart does not change them.
 *
 * A value loses its place after its collectors have looked for it for seven days without seeing it. Its counters
 * disappear. They are not added to `other`, which would look like an increase. If the value returns, it counts from 0.
 * Prometheus sees a series that ended and one that began.
 *
 * A value that is in the store and has no place is hidden, for example because the limit was lowered or a rule denies
 * it. Its old total is not exported, and new counts go to `other`. It stays hidden while the process runs, because a
 * total that reappears would look like an increase, too.
 */
import { isStamp } from '#foundation/domain/lineage.ts';
import { emptyKey, KeySlices, setTextKey } from '../aggregation/keys.ts';
import type { EvictedValue, LabelStore, LabelValue } from '../aggregation/label-store.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { LabelPlaces, type LabelUse, type Readings } from './label-places.ts';
import { labelRules, type LabelRule } from './label-rules.ts';
import { cleanLabel, OTHER } from './labels.ts';
import type { MetricsSettings } from './settings.ts';

const HOUR_MS = 3_600_000;

/**
 * Maximum number of overflowed values to recognize, so that each is counted once. Above it, none is counted. They use at
 * most 12 MB.
 */
const MOST_OVERFLOWED = 500_000;

export interface LimiterDeps {
  readonly settings: MetricsSettings['labels'];
  readonly store: Pick<LabelStore, 'save' | 'evict'>;
  /** Content of the store. */
  readonly stored: readonly LabelValue[];
  readonly clock: Clock;
  /** Returns the values that the configuration of an account names. */
  configured(account: string, label: string): readonly string[];
  /** Called once for each distinct value without a place. */
  onOverflow(label: string): void;
  /** Returns the totals that have a label, and its position among their labels. */
  totalsBy(label: string): EvictedValue['totals'];
  /** Called when a value loses its place. */
  onEvicted(account: string, label: string, value: string): void;
}

export interface LabelLimiter {
  /** Labels that have a limit. */
  readonly labels: readonly string[];
  /**
   * Returns the exported value for a value that was just seen: the cleaned value, or `other`.
   *
   * @param amount number of occurrences, for the statistics of overflowed values
   */
  admit(account: string, label: string, value: string, amount?: number): string;
  /**
   * Returns the exported value for a value in the store; undefined if it is hidden. The value does not count as seen.
   */
  keep(account: string, label: string, value: string): string | undefined;
  /**
   * Writes changes and, once an hour, frees the places of idle values.
   *
   * Rejects if the store cannot be written; the next call retries. Calls must not overlap.
   *
   * @param readOf returns the last complete readings of the account's running collectors of a kind, and their interval
   */
  tidy(readOf: ReadOf): Promise<void>;
  use(): readonly LabelUse[];
}

export type ReadOf = (account: string, collectors: LabelRule['seenBy']) => Readings;

export function createLabelLimiter(deps: LimiterDeps): LabelLimiter {
  const { store, clock } = deps;
  const rules = labelRules(deps.settings);
  const stored = Map.groupBy(deps.stored, ({ account, label }) => keyOf(account, label));
  const all = new Map<string, LabelPlaces>();
  const onOverflow = createOverflowCounter((label) => deps.onOverflow(label));
  let sweptAt = clock.monotonic();

  function placesOf(account: string, rule: LabelRule): LabelPlaces {
    const key = keyOf(account, rule.label);
    let places = all.get(key);
    if (places === undefined) {
      places = new LabelPlaces({
        account,
        rule,
        configured: deps.configured(account, rule.label),
        stored: stored.get(key) ?? [],
        now: clock.monotonic(),
        onOverflow,
      });
      all.set(key, places);
    }
    return places;
  }

  async function evict(): Promise<void> {
    const idle = [...all.values()].flatMap((places) => places.idle().map((value) => ({ places, value })));
    for (const [account, evicted] of Map.groupBy(idle, ({ places }) => places.account)) {
      const values = evicted.map(({ places: { rule }, value }) => ({
        label: rule.label,
        value,
        totals: deps.totalsBy(rule.label),
      }));
      await store.evict(account, values, () => {
        for (const { places, value } of evicted) {
          places.remove(value);
          deps.onEvicted(account, places.rule.label, value);
        }
      });
    }
  }

  async function save(): Promise<void> {
    const unsaved = [...all.values()].map((places) => ({ places, values: places.takeUnsaved() }));
    try {
      await store.save(unsaved.flatMap(({ values }) => values));
    } catch (error) {
      for (const { places, values } of unsaved) places.putBack(values);
      throw error;
    }
  }

  return {
    labels: [...rules.keys()],
    admit(account, label, value, amount = 1) {
      const rule = rules.get(label);
      if (rule === undefined) return isStamp(value) ? OTHER : cleanLabel(value);
      return placesOf(account, rule).admit(value, amount);
    },
    keep(account, label, value) {
      const rule = rules.get(label);
      return rule === undefined ? cleanLabel(value) : placesOf(account, rule).keep(value);
    },
    async tidy(readOf) {
      const now = clock.monotonic();
      if (now - sweptAt >= HOUR_MS) {
        sweptAt = now;
        for (const places of all.values()) {
          const { account, rule } = places;
          if (rule.seenBy.length > 0) places.countIdle(readOf(account, rule.seenBy), now);
        }
        await evict();
      }
      await save();
    },
    use: () => [...all.values()].map((places) => places.use()),
  };
}

/** Reports each distinct overflowed value once, by its label. */
function createOverflowCounter(report: (label: string) => void) {
  // No time slices are needed.
  const overflowed = new KeySlices(1);
  const key = emptyKey();
  return (account: string, label: string, value: string): void => {
    setTextKey(key, `${account}\0${label}\0${value}`);
    if (overflowed.size < MOST_OVERFLOWED && overflowed.add(0, key)) report(label);
  };
}

function keyOf(account: string, label: string): string {
  return `${account}\0${label}`;
}
