/**
 * Comparison of expected and actual values. Texts may contain `*`. Only the listed keys of a mapping are compared;
 * lists are compared completely.
 */
import { isRecord } from '#foundation/domain/json.ts';
import { matchesGlob } from '#foundation/domain/glob.ts';

export interface Difference {
  /** `skipped`, `requests[0].overrides` */
  readonly path: string;
  readonly expected: unknown;
  /** Undefined: nothing of this kind was found. */
  readonly found: unknown;
}

/** Lists whose order is irrelevant. */
const UNORDERED = new Set(['skipped', 'campaigns']);
/** Lists that must contain each expected item, but may contain others. */
const AMONG_OTHERS = new Set(['notes']);
/** Mappings that must have no other keys. */
const WHOLE = new Set(['overrides', 'filter', 'flowControl']);

export function differences(expected: object, found: Readonly<Record<string, unknown>>): Difference[] {
  return Object.entries(expected).flatMap(([key, value]) => compare(value, found[key], key, key));
}

function compare(expected: unknown, found: unknown, path: string, key: string): Difference[] {
  if (expected === undefined) return [];
  if (Array.isArray(expected) && Array.isArray(found)) return compareLists(expected, found, path, key);
  if (isRecord(expected) && isRecord(found)) {
    if (WHOLE.has(key) && !isSameKeys(expected, found)) return [{ path, expected, found }];
    return Object.entries(expected).flatMap(([inner, value]) =>
      compare(value, found[inner], `${path}.${inner}`, inner),
    );
  }
  return isSame(expected, found) ? [] : [{ path, expected, found }];
}

function compareLists(
  expected: readonly unknown[],
  found: readonly unknown[],
  path: string,
  key: string,
): Difference[] {
  const fits = (a: unknown, b: unknown): boolean => compare(a, b, '', '').length === 0;
  const whole = [{ path, expected, found }];
  if (AMONG_OTHERS.has(key)) return expected.every((one) => found.some((other) => fits(one, other))) ? [] : whole;
  if (expected.length !== found.length) return whole;
  if (!UNORDERED.has(key)) {
    const inner = expected.flatMap((one, index) => compare(one, found[index], `${path}[${index}]`, ''));
    // One differing item is reported alone, several as the whole list.
    return inner.length > 1 ? whole : inner;
  }
  const left = [...found];
  for (const one of expected) {
    const at = left.findIndex((other) => fits(one, other));
    if (at === -1) return whole;
    left.splice(at, 1);
  }
  return [];
}

function isSame(expected: unknown, found: unknown): boolean {
  if (typeof expected === 'string' && typeof found === 'string') return matchesGlob(expected, found);
  return expected === found;
}

function isSameKeys(a: object, b: object): boolean {
  return new Set(Object.keys(a)).symmetricDifference(new Set(Object.keys(b))).size === 0;
}
