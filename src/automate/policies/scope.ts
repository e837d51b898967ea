/**
 * Comparison of two versions of a policy: may the new one do more? A scope has all settings that decide what the policy
 * is allowed to act on, by the direction that makes them narrower. A change that is not provably narrower counts as wider.
 */
import { isRecord } from '#foundation/domain/json.ts';

/** Scope as plain JSON: it is stored across starts of the daemon. */
export interface PolicyScope {
  /** Any change may widen. */
  readonly same: Readonly<Record<string, string | number | boolean>>;
  /** A lower value is narrower; an absent one is no limit. */
  readonly atMost: Readonly<Record<string, number>>;
  /** A higher value is narrower; an absent one is no limit. */
  readonly atLeast: Readonly<Record<string, number>>;
  /** Fewer values are narrower; an absent list means all. */
  readonly among: Readonly<Record<string, readonly string[]>>;
  /** More values are narrower. */
  readonly required: Readonly<Record<string, readonly string[]>>;
}

type Group = keyof PolicyScope;
type Values = Readonly<Record<string, unknown>>;

/** Comparison of one key. `before` and `after` are undefined if the key is absent. */
const RULES: Readonly<Record<Group, (before: unknown, after: unknown) => boolean>> = {
  same: (before, after) => before === after,
  atMost: (before, after) => before === undefined || (isNumber(before) && isNumber(after) && after <= before),
  atLeast: (before, after) => before === undefined || (isNumber(before) && isNumber(after) && after >= before),
  among: (before, after) => before === undefined || isPartOf(after, before),
  required: (before, after) => before === undefined || isPartOf(before, after),
};

/**
 * Returns true if `before` also allowed everything that `after` allows; equal scopes count as narrower. An unreadable
 * scope does not, since it may come from another version of the daemon.
 */
export function isNarrower(before: Values, after: Values): boolean {
  const groups = Object.keys(RULES) as Group[];
  const known = (scope: Values): boolean => Object.keys(scope).every((key) => Object.hasOwn(RULES, key));
  if (!known(before) || !known(after)) return false;
  return groups.every((group) => {
    const [old, young] = [before[group], after[group]];
    if (!isRecord(old) || !isRecord(young)) return false;
    const names = new Set([...Object.keys(old), ...Object.keys(young)]);
    return [...names].every((name) => isSound(group, young[name]) && RULES[group](old[name], young[name]));
  });
}

/** True if a new value has a valid type for its group. */
function isSound(group: Group, value: unknown): boolean {
  if (value === undefined) return true;
  if (group === 'same') return ['string', 'number', 'boolean'].includes(typeof value);
  return group === 'atMost' || group === 'atLeast' ? isNumber(value) : isTexts(value);
}

function isPartOf(part: unknown, whole: unknown): boolean {
  return isTexts(part) && isTexts(whole) && part.every((text) => whole.includes(text));
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && !Number.isNaN(value);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}
