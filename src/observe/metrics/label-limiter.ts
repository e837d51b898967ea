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
import { FrequentValues, type Frequent } from './frequent-values.ts';
import { labelRules, type LabelRule } from './label-rules.ts';
import { cleanLabel, OTHER } from './labels.ts';
import type { MetricsSettings } from './settings.ts';

const HOUR_MS = 3_600_000;
/** How long a value is looked for in vain before it loses its place. */
const IDLE_MS = 7 * 24 * HOUR_MS;

/** Folded values that are recognized, so that each is counted once; beyond them none is counted. 12 MB at most. */
const MOST_FOLDED = 500_000;
/** Folded values whose amounts are known, for each label of an account. */
const WATCHED = 64;
/** Texts whose place is known without cleaning them again, and the length of the longest of them. */
const MEMO = 4_096;
const MEMO_LENGTH = 512;

/** How a label of an account is used. */
export interface LabelUse {
  readonly account: string;
  readonly label: string;
  readonly max: number;
  /** Values shown, those that the configuration names included. */
  readonly shown: number;
  readonly configured: number;
  /** Values of the store that have no place. */
  readonly hidden: number;
  /** What was seen of values without a place, since the start of the process. */
  readonly foldedAmount: number;
  readonly largestFolded: readonly Frequent[];
}

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

export type ReadOf = (
  account: string,
  collectors: LabelRule['seenBy'],
) => { readonly lastSuccesses: readonly (number | undefined)[]; readonly intervalMs: number };

interface Place {
  readonly value: string;
  readonly isConfigured: boolean;
  readonly isHidden: boolean;
  isSeen: boolean;
  idleMs: number;
  isSaved: boolean;
}

/** The places of one label of one account. */
interface Places {
  readonly account: string;
  readonly rule: LabelRule;
  readonly places: Map<string, Place>;
  readonly configured: ReadonlySet<string>;
  readonly memo: Map<string, Place>;
  readonly folded: FrequentValues;
  shown: number;
  /** Monotonic; of the last time that idle time was counted. */
  countedAt: number;
  lastSuccesses: readonly (number | undefined)[];
}

export function createLabelLimiter(deps: LimiterDeps): LabelLimiter {
  const { store, clock } = deps;
  const rules = labelRules(deps.settings);
  const stored = Map.groupBy(store.load(), ({ account, label }) => keyOf(account, label));
  const all = new Map<string, Places>();
  /** Keys of the values that were counted. No slices of time are needed. */
  const folded = new KeySlices(1);
  const key = emptyKey();
  let sweptAt = clock.monotonic();

  function placesOf(account: string, rule: LabelRule): Places {
    const key = keyOf(account, rule.label);
    const known = all.get(key);
    if (known !== undefined) return known;
    const configured = [...deps.configured(account, rule.label), ...rule.first].filter(
      (value) => value !== '' && value !== OTHER && !isStamp(value) && rule.isAllowed(value),
    );
    const made: Places = {
      account,
      rule,
      places: new Map(),
      configured: new Set(configured.map(cleanLabel)),
      memo: new Map(),
      folded: new FrequentValues(WATCHED),
      shown: 0,
      countedAt: clock.monotonic(),
      lastSuccesses: [],
    };
    for (const value of made.configured) put(made, value, { isConfigured: true });
    for (const { value, idleMs } of stored.get(key) ?? []) {
      if (made.places.has(value)) continue;
      put(made, value, { isHidden: !mayShow(made, value), idleMs, isSaved: true });
    }
    all.set(key, made);
    return made;
  }

  function mayShow({ rule, shown }: Places, value: string): boolean {
    return shown < rule.max && rule.isAllowed(value);
  }

  function put(to: Places, value: string, how: Partial<Place>): Place {
    const place = { value, isConfigured: false, isHidden: false, isSeen: false, idleMs: 0, isSaved: false, ...how };
    to.places.set(value, place);
    if (!place.isHidden) to.shown += 1;
    return place;
  }

  function fold({ account, rule, folded: amounts }: Places, value: string, amount: number): string {
    amounts.add(value, amount);
    setTextKey(key, `${account}\0${rule.label}\0${value}`);
    if (folded.size < MOST_FOLDED && folded.add(0, key)) deps.onFolded(rule.label);
    return OTHER;
  }

  /** The daemon's own marks are unique to a run: never a label, whatever they came with. */
  function clean({ rule, configured }: Places, raw: string): string {
    if (configured.has(raw)) return raw;
    return isStamp(raw) ? OTHER : rule.normalise(raw);
  }

  function admit(account: string, label: string, raw: string, amount = 1): string {
    const rule = rules.get(label);
    if (rule === undefined) return isStamp(raw) ? OTHER : cleanLabel(raw);
    const places = placesOf(account, rule);
    let place = places.memo.get(raw);
    if (place === undefined) {
      const value = clean(places, raw);
      if (value === OTHER || value === '') return value;
      place = places.places.get(value);
      if (place === undefined && mayShow(places, value)) place = put(places, value, {});
      if (place === undefined || place.isHidden) return fold(places, value, amount);
      remember(places, raw, place);
    }
    place.isSeen = true;
    return place.value;
  }

  function keep(account: string, label: string, raw: string): string | undefined {
    const rule = rules.get(label);
    if (rule === undefined) return cleanLabel(raw);
    const places = placesOf(account, rule);
    // Every commit of a fold comes through here, and nearly always with what was there before.
    const known = places.memo.get(raw);
    if (known !== undefined) return known.value;
    const value = clean(places, raw);
    if (value === OTHER || value === '') return value;
    // Admitted just before the end of an earlier process, which could not write it any more.
    const place = places.places.get(value) ?? put(places, value, { isHidden: !mayShow(places, value) });
    if (place.isHidden) return undefined;
    remember(places, raw, place);
    return place.value;
  }

  function remember({ memo }: Places, raw: string, place: Place): void {
    if (raw.length > MEMO_LENGTH) return;
    if (memo.size >= MEMO) memo.clear();
    memo.set(raw, place);
  }

  /** Adds to the idle time of what was not seen since the last time, when all who see it have read since. */
  function countIdle(places: Places, readOf: ReadOf): void {
    const { rule, account } = places;
    if (rule.seenBy.length === 0) return;
    const { lastSuccesses, intervalMs } = readOf(account, rule.seenBy);
    const before = places.lastSuccesses;
    const haveRead =
      lastSuccesses.length > 0 && lastSuccesses.every((at, index) => at !== undefined && at !== before[index]);
    if (!haveRead) return;
    const now = clock.monotonic();
    // What passed while nobody read, an outage for one, does not count.
    const elapsed = Math.min(now - places.countedAt, 2 * Math.max(HOUR_MS, intervalMs));
    places.lastSuccesses = lastSuccesses;
    places.countedAt = now;
    for (const place of places.places.values()) {
      const idleMs = place.isSeen ? 0 : place.idleMs + elapsed;
      if (idleMs !== place.idleMs) place.isSaved = false;
      place.idleMs = idleMs;
      place.isSeen = false;
    }
  }

  function evict(): void {
    const idle = [...all.values()].flatMap((places) =>
      [...places.places.values()]
        .filter((place) => !place.isConfigured && place.idleMs >= IDLE_MS)
        .map((place) => ({ places, place })),
    );
    store.evict(
      idle.map(({ places: { account, rule }, place: { value } }) => ({
        account,
        label: rule.label,
        value,
        totals: deps.totalsBy(rule.label),
      })),
    );
    for (const { places, place } of idle) {
      places.places.delete(place.value);
      places.memo.clear();
      if (!place.isHidden) places.shown -= 1;
      deps.onEvicted(places.account, places.rule.label, place.value);
    }
  }

  function save(): void {
    const changed = [...all.values()].flatMap((places) =>
      [...places.places.values()].filter((place) => !place.isSaved).map((place) => ({ places, place })),
    );
    store.save(
      changed.map(({ places: { account, rule }, place: { value, idleMs } }) => ({
        account,
        label: rule.label,
        value,
        idleMs,
      })),
    );
    for (const { place } of changed) place.isSaved = true;
  }

  return {
    labels: [...rules.keys()],
    admit,
    keep,
    tidy(readOf) {
      const now = clock.monotonic();
      if (now - sweptAt >= HOUR_MS) {
        sweptAt = now;
        for (const places of all.values()) countIdle(places, readOf);
        evict();
      }
      save();
    },
    use: () =>
      [...all.values()].map(({ account, rule, places, shown, configured, folded: amounts }) => ({
        account,
        label: rule.label,
        max: rule.max,
        shown,
        configured: configured.size,
        hidden: places.size - shown,
        foldedAmount: amounts.total,
        largestFolded: amounts.largest(10),
      })),
  };
}

function keyOf(account: string, label: string): string {
  return `${account}\0${label}`;
}
