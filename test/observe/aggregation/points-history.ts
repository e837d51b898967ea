/**
 * Random histories of a service that serves points: the events of each minute, the time when they became visible, and
 * polls with outages in between. The tests compare the counts with the events.
 */
import { seededRandom } from '#foundation/platform/random.ts';
import type { DataPoint, StatsPeriod } from '#foundation/domain/statistics.ts';
import {
  aggregatePoints,
  intervalsOf,
  periodsToFill,
  type Interval,
  type PointMeaning,
  type SeriesState,
} from '#observe/aggregation/points.ts';
import { readPoints, writePoints } from '#observe/aggregation/series-record.ts';

const MINUTE = 60_000;
/** A midnight: steps of every period are aligned to it as they are to the epoch. */
const EPOCH = Date.UTC(2026, 4, 4);

const GRID: Readonly<Record<StatsPeriod, readonly [points: number, stepMinutes: number]>> = {
  '1h': [60, 1],
  '3h': [60, 3],
  '12h': [60, 12],
  '1d': [60, 24],
  '3d': [60, 72],
  '7d': [60, 168],
  '30d': [240, 180],
};

export interface HistoryOptions {
  readonly settleMinutes: number;
  /** Maximum delay of a minute in minutes. Three in ten minutes are late. */
  readonly late: number;
  /** Duration of the longest outage in minutes. */
  readonly longestGap: number;
  readonly everyMinutes: number;
  /** Duration of the start without an outage, in minutes. */
  readonly calmMinutes?: number;
  readonly lengthMinutes?: number;
  /** Late points are absent instead of 0. */
  readonly isAbsent?: boolean;
  readonly meaning?: PointMeaning;
}

export interface HistoryResult {
  readonly truth: number;
  readonly counted: number;
  readonly missed: number;
  readonly revised: number;
  readonly backfilled: number;
  readonly fell: boolean;
  readonly notIdempotent: boolean;
}

class Remote {
  readonly amounts: number[];
  readonly #late: number[];
  readonly #options: HistoryOptions;
  readonly #first = EPOCH / MINUTE;

  constructor(random: () => number, length: number, options: HistoryOptions) {
    const pick = [0, 0, 1, 5, 20];
    this.#options = options;
    this.amounts = Array.from({ length }, () => pick[Math.floor(random() * pick.length)]!);
    this.#late = Array.from({ length }, () => (random() < 0.3 ? Math.floor(random() * (options.late + 1)) : 0));
  }

  #visible(minute: number, now: number): number | undefined {
    const known = minute + 1 + this.#late[minute]! <= now;
    return minute < now && known ? this.amounts[minute]! : undefined;
  }

  window(period: StatsPeriod, now: number): DataPoint[] {
    const [count, step] = GRID[period];
    const { meaning = { value: 'sum', at: 'start' } } = this.#options;
    const newest = Math.floor((this.#first + now) / step) * step - this.#first;
    const points: DataPoint[] = [];
    for (let from = newest - (count - 1) * step; from <= newest; from += step) {
      let sum = 0;
      let isWhole = true;
      for (let minute = Math.max(0, from); minute < Math.min(from + step, this.amounts.length); minute++) {
        const visible = this.#visible(minute, now);
        sum += visible ?? 0;
        if (visible === undefined && minute < now) isWhole = false;
      }
      if (this.#options.isAbsent === true && step === 1 && !isWhole) continue;
      const at = EPOCH + (meaning.at === 'end' ? from + step : from) * MINUTE;
      points.push({ at, value: meaning.value === 'rate' ? sum / (step * 60) : sum });
    }
    return points;
  }
}

/** Runs a history. The state is written and read again each time, as over a restart. */
function liveThrough(seed: number, options: HistoryOptions): HistoryResult {
  const random = seededRandom(seed);
  const { lengthMinutes: length = 2_500, calmMinutes = 0, everyMinutes, longestGap, settleMinutes } = options;
  const { meaning = { value: 'sum', at: 'start' } } = options;
  const remote = new Remote(random, length, options);
  remote.amounts.fill(0, length - 200);
  let state: SeriesState | undefined;
  let counted = 0;
  const about = { missed: 0, revised: 0, backfilled: 0 };
  let fell = false;
  let notIdempotent = false;

  const poll = (now: number): number => {
    const servedAt = EPOCH + now * MINUTE;
    const before = state === undefined ? undefined : readPoints(writePoints(state));
    const window = (period: StatsPeriod): Interval[] => intervalsOf(remote.window(period, now), period, meaning);
    const result = aggregatePoints(before, {
      fine: window('1h'),
      coarse: periodsToFill(before, servedAt).map(window),
      servedAt,
      settleMs: settleMinutes * MINUTE,
      intervalMs: everyMinutes * MINUTE,
    });
    if (result === undefined) return 0;
    state = result.state;
    counted += result.increase;
    about.missed += result.missed;
    about.revised += result.revised;
    about.backfilled += result.backfilled;
    fell ||= result.increase < 0;
    return result.increase;
  };

  for (let now = 70; now < length - 10;) {
    poll(now);
    notIdempotent ||= poll(now) !== 0;
    const isGap = random() <= 0.02 && now <= length - 250 && now >= calmMinutes;
    const gap = everyMinutes + Math.floor(random() * Math.max(0, longestGap - everyMinutes));
    now += isGap ? Math.max(everyMinutes, Math.min(gap, length - 150 - now)) : everyMinutes;
  }
  const from = (state!.base - EPOCH) / MINUTE;
  const to = (state!.watermark - EPOCH) / MINUTE;
  const truth = remote.amounts.slice(from, to).reduce((sum, amount) => sum + amount, 0);
  return { truth, counted, ...about, fell, notIdempotent };
}

interface History {
  readonly options: HistoryOptions;
  readonly seeds: number;
  /**
   * True if every run must be exact and nothing is missed. Otherwise points that were late when the first hour ended in
   * an outage are lost.
   */
  readonly isExact: boolean;
}

function history(options: Partial<HistoryOptions>, seeds = 6, isExact = true): History {
  return { options: { settleMinutes: 2, late: 0, everyMinutes: 5, longestGap: 6, ...options }, seeds, isExact };
}

const DAYS = { longestGap: 25 * 1_440, everyMinutes: 30, lengthMinutes: 40_000, calmMinutes: 300 };
const CALM = { late: 15, longestGap: 600, calmMinutes: 200 };

/** Histories of the working model, and further ones. */
export const HISTORIES: Readonly<Record<string, History>> = {
  steady: history({}),
  'late within the settle delay': history({ settleMinutes: 6, late: 5 }),
  'late beyond the settle delay': history({ late: 15 }),
  'outages to 3 h': history({ longestGap: 180 }),
  'outages to 20 h': history({ longestGap: 1_200 }, 10),
  'late points and outages, in the first hour too': history({ late: 15, longestGap: 600 }, 10, false),
  'late points and outages after a calm hour': history({ ...CALM, longestGap: 1_200 }, 10),
  'late within the settle delay, and outages': history({ settleMinutes: 16, late: 15, longestGap: 600 }),
  'late points that are not there at all': history({ late: 15, isAbsent: true }),
  'absent points and outages': history({ ...CALM, isAbsent: true }, 10),
  'outages of days': history(DAYS, 1),
  'rates at the end of their interval': history({ ...CALM, meaning: { value: 'rate', at: 'end' } }),
};

export function outcomeOf(options: HistoryOptions, seeds: number) {
  let exact = 0;
  let worst = 0;
  let missed = 0;
  let wrong = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const { truth, counted, ...result } = liveThrough(seed, options);
    const error = Math.abs(counted - truth);
    // Rates are not integers.
    if (error < 1e-6) exact += 1;
    worst = Math.max(worst, error / truth);
    missed += result.missed;
    if (result.fell || result.notIdempotent) wrong += 1;
  }
  return { runs: seeds, exact, worst, missed, wrong };
}
