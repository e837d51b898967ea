/**
 * Loops over columns of numbers, for filters: each looks at one typed array and calls nobody, so that it compiles to a
 * few instructions. The places that still fit lie in one array, in their order, which each loop shortens.
 */

/** Of a stretch that is looked at in one go: a power of two, the same for all columns. */
export const STRETCH = 512;

/** Places within a stretch that still fit. What one scan leaves here is read before the next one begins. */
export const places = new Uint16Array(STRETCH);

/** All places before `length`; returns how many. */
export function gatherAll(length: number): number {
  for (let at = 0; at < length; at++) places[at] = at;
  return length;
}

/** All places before `length` whose value in a column, which begins at `base`, is this one; returns how many. */
export function gatherEqual(numbers: Uint32Array, base: number, value: number, length: number): number {
  let kept = 0;
  for (let at = 0; at < length; at++) if (numbers[base + at] === value) places[kept++] = at;
  return kept;
}

/** Keeps of the first `count` places those whose value is this one; returns how many. */
export function keepEqual(numbers: Uint32Array, base: number, value: number, count: number): number {
  let kept = 0;
  for (let index = 0; index < count; index++) {
    const at = places[index]!;
    if (numbers[base + at] === value) places[kept++] = at;
  }
  return kept;
}

/** The same of those whose value has its bit in `bits`. */
export function keepBits(numbers: Uint32Array, base: number, bits: Uint32Array, count: number): number {
  let kept = 0;
  for (let index = 0; index < count; index++) {
    const at = places[index]!;
    const value = numbers[base + at]!;
    if (((bits[value >>> 5]! >>> (value & 31)) & 1) === 1) places[kept++] = at;
  }
  return kept;
}

/** The same of those that `fits` tells; slower, and for few places. */
export function keepEach(fits: (at: number) => boolean, count: number): number {
  let kept = 0;
  for (let index = 0; index < count; index++) {
    const at = places[index]!;
    if (fits(at)) places[kept++] = at;
  }
  return kept;
}
