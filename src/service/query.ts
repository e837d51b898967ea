/**
 * Builds queries of the service. The danger is a lost filter: a bulk call without filters acts on everything. Every
 * given filter must therefore reach the wire as intended, or the call is rejected.
 */
import { checkFilter, checkListItem } from './arguments.ts';
import { InvalidRequestError } from './service-error.ts';

export type QueryValue = string | number | readonly (string | number)[];

/**
 * Serializes parameters in the given order. Lists repeat the parameter.
 *
 * @returns `?a=1&b=2`, or the empty string if there are none
 */
export function buildQuery(operation: string, parameters: Iterable<readonly [string, QueryValue]>): string {
  const parts: string[] = [];
  for (const [name, value] of parameters) {
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    const check = Array.isArray(value) ? checkListItem : checkFilter;
    if (items.length === 0) throw new InvalidRequestError(operation, `${name} is an empty list`);
    for (const item of items) {
      const text = typeof item === 'number' ? number(operation, name, item) : check(operation, name, item);
      parts.push(`${encodeURIComponent(name)}=${encodeURIComponent(text)}`);
    }
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

function number(operation: string, name: string, value: number): string {
  if (!Number.isSafeInteger(value)) throw new InvalidRequestError(operation, `${name} must be an integer`);
  return String(value);
}
