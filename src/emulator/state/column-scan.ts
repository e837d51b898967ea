/**
 * Loops over columns of numbers, for filters. Each reads one typed array and calls no function, so that it compiles to
 * a few instructions. The matching places are in one ordered array, which each loop shortens.
 */

/** Rows of a stretch that is scanned at once: a power of two, equal for all columns. */
export const STRETCH = 512;

/** Matching places within a stretch. The result of one scan must be read before the next scan begins. */
export const places = new Uint16Array(STRETCH);

/** Collects all places before `length`. Returns their number. */
export function gatherAll(length: number): number {
  for (let at = 0; at < length; at++) places[at] = at;
  return length;
}

/** Collects the places before `length` with this value in the column that begins at `base`. Returns their number. */
export function gatherEqual(numbers: Uint32Array, base: number, value: number, length: number): number {
  let kept = 0;
  for (let at = 0; at < length; at++) if (numbers[base + at] === value) places[kept++] = at;
  return kept;
}

/** Keeps the places with this value, of the first `count` ones. Returns their number. */
export function keepEqual(numbers: Uint32Array, base: number, value: number, count: number): number {
  let kept = 0;
  for (let index = 0; index < count; index++) {
    const at = places[index]!;
    if (numbers[base + at] === value) places[kept++] = at;
  }
  return kept;
}

/** Keeps the places whose value has its bit set in `bits`. Returns their number. */
export function keepBits(numbers: Uint32Array, base: number, bits: Uint32Array, count: number): number {
  let kept = 0;
  for (let index = 0; index < count; index++) {
    const at = places[index]!;
    const value = numbers[base + at]!;
    if (((bits[value >>> 5]! >>> (value & 31)) & 1) === 1) places[kept++] = at;
  }
  return kept;
}

/** Keeps the places that `fits` accepts. Slower, so only for few places. */
export function keepEach(fits: (at: number) => boolean, count: number): number {
  let kept = 0;
  for (let index = 0; index < count; index++) {
    const at = places[index]!;
    if (fits(at)) places[kept++] = at;
  }
  return kept;
}
