/**
 * Checks single arguments at run time, in addition to types. A value that passes is valid on the wire and has the
 * intended meaning there. Every rejection is an `InvalidRequestError` that names the argument, never its value.
 */
import { filterFault, isBlank } from '#foundation/domain/filter-value.ts';
import { InvalidRequestError } from './service-error.ts';

const CONTROL = /\p{Cc}/u;

/** 2015-01-01 and 2100-01-01. A time outside is in another unit, or a mistake that would widen a filter. */
const EARLIEST_MS = 1_420_070_400_000;
const LATEST_MS = 4_102_444_800_000;

export const MAX_COUNT = 100;

/** Returns a text that is not empty and contains neither control characters nor half a surrogate pair. */
export function checkText(operation: string, name: string, value: unknown): string {
  if (typeof value !== 'string') throw new InvalidRequestError(operation, `${name} must be text`);
  if (value === '') throw new InvalidRequestError(operation, `${name} is empty`);
  if (CONTROL.test(value)) throw new InvalidRequestError(operation, `${name} contains a control character`);
  if (!value.isWellFormed()) throw new InvalidRequestError(operation, `${name} is not well-formed text`);
  return value;
}

/** Returns a header value as it is on the wire: bytes of UTF-8, each as one character, which is how Node sends them. */
export function checkHeaderValue(operation: string, name: string, value: unknown): string {
  if (typeof value !== 'string') throw new InvalidRequestError(operation, `the header ${name} must be text`);
  if (CONTROL.test(value.replaceAll('\t', ''))) {
    throw new InvalidRequestError(operation, `the header ${name} contains a line break or another control character`);
  }
  if (!value.isWellFormed()) throw new InvalidRequestError(operation, `the header ${name} is not well-formed text`);
  return Buffer.from(value).toString('latin1');
}

/** Returns the only value of a filter. */
export function checkFilter(operation: string, name: string, value: unknown): string {
  const text = checkText(operation, name, value);
  if (isBlank(text)) throw new InvalidRequestError(operation, `${name} ${filterFault('')}`);
  return text;
}

/** Returns a member of a comma-separated list, or an id. A comma inside would make two of it. */
export function checkListItem(operation: string, name: string, value: unknown): string {
  const text = checkText(operation, name, value);
  const fault = filterFault(text);
  if (fault !== undefined) throw new InvalidRequestError(operation, `${name} ${fault}`);
  return text;
}

/** Returns a list of 1 to `max` values without commas. */
export function checkTexts(operation: string, name: string, values: unknown, max = Infinity): readonly string[] {
  if (!Array.isArray(values)) throw new InvalidRequestError(operation, `${name} must be a list`);
  if (values.length === 0) {
    throw new InvalidRequestError(operation, `${name} is an empty list, which the service treats as no filter`);
  }
  if (values.length > max) throw new InvalidRequestError(operation, `${name} has more than ${max} values`);
  // Array.from instead of map, which skips holes: a hole would be sent as nothing.
  return Array.from(values, (value: unknown) => checkListItem(operation, name, value));
}

export interface IntegerRange {
  readonly min: number;
  readonly max: number;
}

export function checkInteger(operation: string, name: string, value: unknown, range: IntegerRange): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < range.min || value > range.max) {
    throw new InvalidRequestError(operation, `${name} must be an integer from ${range.min} to ${range.max}`);
  }
  return value;
}

/**
 * Returns a page size from 1 to 100. The service's behavior above 100 is unknown, so a larger one is never requested.
 */
export function checkCount(operation: string, name: string, value: unknown): number {
  return checkInteger(operation, name, value, { min: 1, max: MAX_COUNT });
}

/** Returns epoch milliseconds between 2015 and 2100. */
export function checkTime(operation: string, name: string, value: unknown): number {
  const time = checkInteger(operation, name, value, { min: 0, max: Number.MAX_SAFE_INTEGER });
  if (time < EARLIEST_MS || time > LATEST_MS) {
    throw new InvalidRequestError(operation, `${name} must be epoch milliseconds between 2015 and 2100`);
  }
  return time;
}

/** Returns Unix seconds between 2015 and 2100. */
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

/** Returns a duration in the service's format: `30s`, `1h30m`, `1d`. */
export function checkWireDuration(operation: string, name: string, value: unknown): string {
  if (typeof value !== 'string' || !/^(?:\d+[smhd])+$/.test(value)) {
    throw new InvalidRequestError(operation, `${name} must be a duration such as 30s, 1h30m or 1d`);
  }
  return value;
}

/** Returns an http or https URL that is valid in a header or a path without encoding. */
export function checkUrl(operation: string, name: string, value: unknown): string {
  if (typeof value !== 'string' || !/^https?:\/\//.test(value)) {
    throw new InvalidRequestError(operation, `${name} must start with http:// or https://`);
  }
  // A request line allows only visible ASCII, and a fragment is never sent.
  if (!/^[\x21-\x7e]+$/.test(value)) {
    throw new InvalidRequestError(
      operation,
      `${name} contains a space, a control character or a non-ASCII character: percent-encode it`,
    );
  }
  if (value.includes('#')) throw new InvalidRequestError(operation, `${name} has a fragment, which cannot be sent`);
  if (!URL.canParse(value)) throw new InvalidRequestError(operation, `${name} is not a URL`);
  return value;
}

/** Rejects members that the operation does not have. Dropping one silently could widen the set that is acted on. */
export function checkMembers(operation: string, value: object, allowed: readonly string[]): void {
  const unknown = Object.keys(value).find((key) => !allowed.includes(key));
  if (unknown !== undefined) {
    throw new InvalidRequestError(operation, `${JSON.stringify(unknown)} is not one of ${allowed.join(', ')}`);
  }
}
