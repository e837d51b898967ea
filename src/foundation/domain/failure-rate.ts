/** Failures over time as a sparkline: a fixed number of steps whose width grows with the time they cover. */

export interface FailureRate {
  /** Epoch milliseconds of the start of the first step, a multiple of `stepMs`. */
  readonly from: number;
  /** Width of a step: a minute, doubled until all failures fit. */
  readonly stepMs: number;
  readonly counts: readonly number[];
}

/** Maximum number of steps. */
export const RATE_STEPS = 24;
const MINUTE_MS = 60_000;

/** @param times at least one, in any order */
export function rateOf(times: readonly number[]): FailureRate {
  let [first, last] = [Infinity, -Infinity];
  for (const time of times) {
    first = Math.min(first, time);
    last = Math.max(last, time);
  }
  const { from, stepMs, counts } = emptyRate(first, last, MINUTE_MS);
  for (const time of times) counts[Math.floor((time - from) / stepMs)]! += 1;
  return { from, stepMs, counts };
}

/** Adds two rates. The result does not depend on the order of additions. */
export function addRates(a: FailureRate, b: FailureRate): FailureRate {
  const first = Math.min(a.from, b.from);
  const last = Math.max(endOf(a), endOf(b));
  const { from, stepMs, counts } = emptyRate(first, last, Math.max(a.stepMs, b.stepMs));
  for (const rate of [a, b]) {
    for (const [index, count] of rate.counts.entries()) {
      counts[Math.floor((rate.from + index * rate.stepMs - from) / stepMs)]! += count;
    }
  }
  return { from, stepMs, counts };
}

/** Start of the last step. */
function endOf({ from, stepMs, counts }: FailureRate): number {
  return from + (counts.length - 1) * stepMs;
}

function startOf(time: number, stepMs: number): number {
  return Math.floor(time / stepMs) * stepMs;
}

/** @param least minimum width of a step */
function emptyRate(first: number, last: number, least: number): FailureRate & { readonly counts: number[] } {
  const stepsOf = (ms: number): number => (startOf(last, ms) - startOf(first, ms)) / ms + 1;
  let stepMs = least;
  while (stepsOf(stepMs) > RATE_STEPS) stepMs *= 2;
  return { from: startOf(first, stepMs), stepMs, counts: Array.from({ length: stepsOf(stepMs) }, () => 0) };
}
