/**
 * Whether an edit of a policy lets it do more. A scope says everything that decides what may be acted on, sorted by
 * what makes it narrower; what is not provably narrower counts as wider.
 */

/** Plain JSON: it is kept from one start of the daemon to the next. */
export interface PolicyScope {
  /** Any change may widen. */
  readonly same: Readonly<Record<string, string | number | boolean>>;
  /** Lower is narrower; absent is no bound. */
  readonly atMost: Readonly<Record<string, number>>;
  /** Higher is narrower; absent is no bound. */
  readonly atLeast: Readonly<Record<string, number>>;
  /** Fewer is narrower; absent is all. */
  readonly among: Readonly<Record<string, readonly string[]>>;
  /** More is narrower. */
  readonly required: Readonly<Record<string, readonly string[]>>;
}

type Group = keyof PolicyScope;
type Values = Readonly<Record<string, unknown>>;

/** Each answers for one key: `before` and `after` are undefined where it is absent. */
const RULES: Readonly<Record<Group, (before: unknown, after: unknown) => boolean>> = {
  same: (before, after) => before === after,
  atMost: (before, after) => before === undefined || (isNumber(before) && isNumber(after) && after <= before),
  atLeast: (before, after) => before === undefined || (isNumber(before) && isNumber(after) && after >= before),
  among: (before, after) => before === undefined || isPartOf(after, before),
  required: (before, after) => before === undefined || isPartOf(before, after),
};

/**
 * Whether nothing that `after` allows was refused by `before`; equal ones are. What cannot be read is not narrower: it
 * may come from another version of the daemon.
 */
export function isNarrower(before: Values, after: Values): boolean {
  const groups = Object.keys(RULES) as Group[];
  const known = (scope: Values): boolean => Object.keys(scope).every((key) => Object.hasOwn(RULES, key));
  if (!known(before) || !known(after)) return false;
  return groups.every((group) => {
    const [old, young] = [before[group], after[group]];
    if (!isMapping(old) || !isMapping(young)) return false;
    const names = new Set([...Object.keys(old), ...Object.keys(young)]);
    return [...names].every((name) => isSound(group, young[name]) && RULES[group](old[name], young[name]));
  });
}

/** A bound that is new must be one. */
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

function isMapping(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
