/**
 * What keeps labels few. A value of a label from outside is cleaned, and shown when it has a place: what the
 * configuration names comes first, then first come, first served, so many for each account. The rest is `other`, and
 * counted. Places are kept in the store, so that a restart does not reshuffle them.
 *
 * A value that its collectors have looked for and not seen for seven days loses its place: its counters vanish, and
 * nothing of them moves to `other`, which would read as an increase. When it comes back it counts from 0: to Prometheus
 * either is a series that ended and one that began.
 *
 * A value that is in the store and has no place (the cap was lowered, a rule denies it) is hidden: its old total is
 * shown nowhere, what comes from now on is `other`, and it stays so while this process runs, since a total that comes
 * back in the middle would read as an increase too.
 */
import { isStamp } from '#foundation/domain/lineage.ts';
import { emptyKey, KeySlices, setTextKey } from '../aggregation/keys.ts';
import type { EvictedValue, LabelStore } from '../aggregation/label-store.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { LabelPlaces, type LabelUse, type Readings } from './label-places.ts';
import { labelRules, type LabelRule } from './label-rules.ts';
import { cleanLabel, OTHER } from './labels.ts';
import type { MetricsSettings } from './settings.ts';

const HOUR_MS = 3_600_000;

/** Folded values that are recognized, so that each is counted once; beyond them none is counted. 12 MB at most. */
const MOST_FOLDED = 500_000;

export interface LimiterDeps {
  readonly settings: MetricsSettings['labels'];
  readonly store: LabelStore;
  readonly clock: Clock;
  /** What the configuration of an account names. */
  configured(account: string, label: string): readonly string[];
  /** Called once for each distinct value that found no place. */
  onFolded(label: string): void;
  /** Totals by a label, and where it stands among theirs. */
  totalsBy(label: string): EvictedValue['totals'];
  /** A value lost its place. */
  onEvicted(account: string, label: string, value: string): void;
}

export interface LabelLimiter {
  /** The labels that have a limit. */
  readonly labels: readonly string[];
  /**
   * The value to expose for one that was just seen: itself, cleaned, or `other`.
   *
   * @param amount how much of it was seen, for the figures of what folds
   */
  admit(account: string, label: string, value: string, amount?: number): string;
  /** The value to expose for one of the store; undefined when it is hidden. It does not count as seen. */
  keep(account: string, label: string, value: string): string | undefined;
  /**
   * Writes what changed, and once an hour lets values go that are idle.
   *
   * @param readOf when each of the account's running collectors of a kind last read all, and how often it reads
   * @throws {Error} when the store cannot be written; it is tried again the next time
   */
  tidy(readOf: ReadOf): void;
  use(): readonly LabelUse[];
}

export type ReadOf = (account: string, collectors: LabelRule['seenBy']) => Readings;

export function createLabelLimiter(deps: LimiterDeps): LabelLimiter {
  const { store, clock } = deps;
  const rules = labelRules(deps.settings);
  const stored = Map.groupBy(store.load(), ({ account, label }) => keyOf(account, label));
  const all = new Map<string, LabelPlaces>();
  const onFolded = createFoldedCounter((label) => deps.onFolded(label));
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
        onFolded,
      });
      all.set(key, places);
    }
    return places;
  }

  function evict(): void {
    const idle = [...all.values()].flatMap((places) => places.idle().map((value) => ({ places, value })));
    store.evict(
      idle.map(({ places: { account, rule }, value }) => ({
        account,
        label: rule.label,
        value,
        totals: deps.totalsBy(rule.label),
      })),
    );
    for (const { places, value } of idle) {
      places.remove(value);
      deps.onEvicted(places.account, places.rule.label, value);
    }
  }

  function save(): void {
    const places = [...all.values()];
    store.save(places.flatMap((ofLabel) => ofLabel.unsaved()));
    for (const ofLabel of places) ofLabel.markSaved();
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
    tidy(readOf) {
      const now = clock.monotonic();
      if (now - sweptAt >= HOUR_MS) {
        sweptAt = now;
        for (const places of all.values()) {
          const { account, rule } = places;
          if (rule.seenBy.length > 0) places.countIdle(readOf(account, rule.seenBy), now);
        }
        evict();
      }
      save();
    },
    use: () => [...all.values()].map((places) => places.use()),
  };
}

/** Reports each distinct folded value once, by its label. */
function createFoldedCounter(report: (label: string) => void) {
  // No slices of time are needed.
  const folded = new KeySlices(1);
  const key = emptyKey();
  return (account: string, label: string, value: string): void => {
    setTextKey(key, `${account}\0${label}\0${value}`);
    if (folded.size < MOST_FOLDED && folded.add(0, key)) report(label);
  };
}

function keyOf(account: string, label: string): string {
  return `${account}\0${label}`;
}
