/** Buckets of delivery durations, in the metrics and in the history. */

/** Upper bounds in seconds. */
export const DELIVERY_DURATION_BOUNDS = [
  0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400,
] as const;

/**
 * Returns a quantile of durations in seconds, interpolated within its bucket. A quantile above all bounds is the highest
 * bound.
 *
 * @param buckets counts, not cumulative; the last one is above all bounds
 * @returns undefined if there are no durations
 */
export function durationQuantile(buckets: readonly number[], quantile: number): number | undefined {
  const all = buckets.reduce((sum, count) => sum + count, 0);
  if (all === 0) return undefined;
  const rank = quantile * all;
  let below = 0;
  for (const [index, bound] of DELIVERY_DURATION_BOUNDS.entries()) {
    const count = buckets[index] ?? 0;
    if (below + count >= rank && count > 0) {
      const from = DELIVERY_DURATION_BOUNDS[index - 1] ?? 0;
      return from + ((bound - from) * (rank - below)) / count;
    }
    below += count;
  }
  return DELIVERY_DURATION_BOUNDS.at(-1);
}
