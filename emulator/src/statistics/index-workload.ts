/**
 * Workload of a search or vector index: a pure function of the index's id and of time. The same history is visible
 * after a restart and to every reader. The history also covers the time before the index's creation.
 *
 * A rate is a base times a sum of waves (day, week and some short ones). It stays positive, so its integral has a
 * closed form and increases. Counts are differences of the integer part of that integral. Periods, days and the month
 * therefore add up to exactly the same counts, and the cost of a reading does not depend on its length.
 */
import { seededRandom, type Random } from '#foundation/platform/random.ts';
import { DAY_MS, MINUTE_MS } from './point-time.ts';

export type WorkloadOperation = 'query' | 'update' | 'rerank';

export interface IndexWorkload {
  /** Returns the operations in [from, to), in epoch milliseconds. */
  count(operation: WorkloadOperation, from: number, to: number): number;
  /** Returns the operations per second at a given time. */
  rate(operation: WorkloadOperation, at: number): number;
  /** Returns the load relative to its mean. Latencies and backlog follow it. */
  load(at: number): number;
  /** Returns the number of vectors at a given time. */
  vectors(at: number): number;
  /** Bytes of one vector with its metadata. */
  readonly vectorBytes: number;
  /** Response bytes of one query. */
  readonly queryBytes: number;
}

interface Wave {
  readonly periodMs: number;
  /** Share of the mean. The amplitudes of a rate add up to less than 1. */
  readonly amplitude: number;
  /** Radians. */
  readonly phase: number;
}

interface Rate {
  /** Mean operations per millisecond. */
  readonly mean: number;
  readonly waves: readonly Wave[];
}

const DIMENSIONS = [384, 768, 1_024, 1_536] as const;

export function indexWorkload(indexId: string): IndexWorkload {
  const random = seededRandom(hashOf(indexId));
  const query = rateOf(random, 40 + 80 * random());
  const update = rateOf(random, 6 + 14 * random());
  const rerank = rateOf(random, 0.05 + 0.15 * random());
  const rates: Readonly<Record<WorkloadOperation, Rate>> = { query, update, rerank };
  const baseVectors = Math.round(50_000 + 400_000 * random());
  const season: Rate = {
    mean: 1,
    waves: [
      { periodMs: 60 * DAY_MS, amplitude: 0.25, phase: turn(random) },
      { periodMs: DAY_MS, amplitude: 0.01, phase: turn(random) },
    ],
  };
  const dimension = DIMENSIONS[Math.floor(random() * DIMENSIONS.length)] ?? 768;
  const vectorBytes = dimension * 4 + 160;

  return {
    count: (operation, from, to) => Math.max(0, total(rates[operation], to) - total(rates[operation], from)),
    rate: (operation, at) => valueOf(rates[operation], at) * 1_000,
    load: (at) => valueOf(query, at) / query.mean,
    vectors: (at) => Math.round(baseVectors * valueOf(season, at)),
    vectorBytes,
    queryBytes: 900 + vectorBytes,
  };
}

/** @param perMinute mean operations per minute */
function rateOf(random: Random, perMinute: number): Rate {
  return {
    mean: perMinute / MINUTE_MS,
    waves: [
      { periodMs: DAY_MS, amplitude: 0.42, phase: turn(random) },
      { periodMs: 7 * DAY_MS, amplitude: 0.18, phase: turn(random) },
      { periodMs: 97 * MINUTE_MS, amplitude: 0.16, phase: turn(random) },
      { periodMs: 11 * MINUTE_MS, amplitude: 0.14, phase: turn(random) },
    ],
  };
}

function turn(random: Random): number {
  return random() * 2 * Math.PI;
}

function valueOf(rate: Rate, at: number): number {
  const waves = rate.waves.reduce((sum, wave) => sum + wave.amplitude * Math.sin(angle(wave, at)), 1);
  return rate.mean * waves;
}

/** Returns whole operations since the epoch. */
function total(rate: Rate, at: number): number {
  const waves = rate.waves.reduce(
    (sum, wave) => sum - ((wave.amplitude * wave.periodMs) / (2 * Math.PI)) * Math.cos(angle(wave, at)),
    at,
  );
  return Math.floor(rate.mean * waves);
}

/** Returns the wave's angle, reduced to one turn: the sine of a small number is accurate in any year. */
function angle(wave: Wave, at: number): number {
  return ((at % wave.periodMs) / wave.periodMs) * 2 * Math.PI + wave.phase;
}

/** FNV-1a hash. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
