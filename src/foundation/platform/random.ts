/** Random source passed as a dependency; seeded if a run must be reproducible. */
export type Random = () => number;

export const systemRandom: Random = Math.random;

/** Returns a mulberry32 generator: small, fast, sufficient for jitter and sample traffic, never for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
