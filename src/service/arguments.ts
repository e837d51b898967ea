/**
 * Checks of single arguments, at run time and not by types alone: what passes here can be put on the wire and means
 * there what it says. Every refusal is an `InvalidRequestError` that names the argument, never its value.
 */
import { InvalidRequestError } from './service-error.ts';

const CONTROL = /\p{Cc}/u;

/** 2015-01-01 and 2100-01-01: a time outside is in another unit, or a mistake that would widen a filter. */
const EARLIEST_MS = 1_420_070_400_000;
const LATEST_MS = 4_102_444_800_000;

export const MAX_COUNT = 100;

/** Text that is neither empty nor holds control characters nor half a surrogate pair. */
export function checkText(operation: string, name: string, value: unknown): string {
  if (typeof value !== 'string') throw new InvalidRequestError(operation, `${name} must be text`);
  if (value === '') throw new InvalidRequestError(operation, `${name} is empty`);
  if (CONTROL.test(value)) throw new InvalidRequestError(operation, `${name} holds a control character`);
  if (!value.isWellFormed()) throw new InvalidRequestError(operation, `${name} is not well-formed text`);
  return value;
}

/** A member of a comma-separated list: a comma inside would make two of it. */
export function checkListItem(operation: string, name: string, value: unknown): string {
  const text = checkText(operation, name, value);
  if (text.includes(','))
    throw new InvalidRequestError(operation, `${name} holds a comma, which would make two values`);
  return text;
}

/** A list of at least one and at most `max` values without commas. */
export function checkTexts(operation: string, name: string, values: unknown, max = Infinity): readonly string[] {
  if (!Array.isArray(values)) throw new InvalidRequestError(operation, `${name} must be a list`);
  if (values.length === 0) {
    throw new InvalidRequestError(operation, `${name} is an empty list, which the service reads as no filter`);
  }
  if (values.length > max) throw new InvalidRequestError(operation, `${name} has more than ${max} values`);
  // Array.from, since map skips holes and a hole would be sent as nothing.
  return Array.from(values, (value: unknown) => checkListItem(operation, name, value));
}

export interface IntegerRange {
  readonly min: number;
  readonly max: number;
}

export function checkInteger(operation: string, name: string, value: unknown, range: IntegerRange): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < range.min || value > range.max) {
    throw new InvalidRequestError(operation, `${name} must be a whole number from ${range.min} to ${range.max}`);
  }
  return value;
}

/** Page size: 1 to 100. What the service does above is not known, so it is never asked. */
export function checkCount(operation: string, name: string, value: unknown): number {
  return checkInteger(operation, name, value, { min: 1, max: MAX_COUNT });
}

/** Epoch milliseconds between 2015 and 2100. */
export function checkTime(operation: string, name: string, value: unknown): number {
  const time = checkInteger(operation, name, value, { min: 0, max: Number.MAX_SAFE_INTEGER });
  if (time < EARLIEST_MS || time > LATEST_MS) {
    throw new InvalidRequestError(operation, `${name} must be epoch milliseconds between 2015 and 2100`);
  }
  return time;
}

/** Unix seconds between 2015 and 2100. */
export function checkSeconds(operation: string, name: string, value: unknown): number {
  return checkInteger(operation, name, value, { min: EARLIEST_MS / 1_000, max: LATEST_MS / 1_000 });
}

export function checkOneOf<T extends string>(
  operation: string,
  name: string,
  value: unknown,
  allowed: readonly T[],
): T {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) throw new InvalidRequestError(operation, `${name} must be one of ${allowed.join(', ')}`);
  return found;
}

/** Duration as the service writes it: `30s`, `1h30m`, `1d`. */
export function checkWireDuration(operation: string, name: string, value: unknown): string {
  if (typeof value !== 'string' || !/^(?:\d+[smhd])+$/.test(value)) {
    throw new InvalidRequestError(operation, `${name} must be a duration such as 30s, 1h30m or 1d`);
  }
  return value;
}

/** An http or https URL that can stand in a header or a path as it is. */
export function checkUrl(operation: string, name: string, value: unknown): string {
  if (typeof value !== 'string' || !/^https?:\/\//.test(value)) {
    throw new InvalidRequestError(operation, `${name} must begin with http:// or https://`);
  }
  // Outside of visible ASCII nothing may stand in a request line; a fragment never travels.
  if (!/^[\x21-\x7e]+$/.test(value)) {
    throw new InvalidRequestError(
      operation,
      `${name} holds a space, a control or a non-ASCII character: percent-encode it`,
    );
  }
  if (value.includes('#')) throw new InvalidRequestError(operation, `${name} has a fragment, which cannot be sent`);
  if (!URL.canParse(value)) throw new InvalidRequestError(operation, `${name} is not a URL`);
  return value;
}

/** Refuses members that the operation does not have: dropping one in silence could widen what is acted on. */
export function checkMembers(operation: string, value: object, allowed: readonly string[]): void {
  const unknown = Object.keys(value).find((key) => !allowed.includes(key));
  if (unknown !== undefined) {
    throw new InvalidRequestError(operation, `${JSON.stringify(unknown)} is not one of ${allowed.join(', ')}`);
  }
}
