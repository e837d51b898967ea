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
    if (Array.isArray(value)) {
      if (value.length === 0) throw new InvalidRequestError(operation, `${name} is an empty list`);
      for (const item of Array.from(value as unknown[])) {
        parts.push(
          pair(name, typeof item === 'number' ? number(operation, name, item) : checkListItem(operation, name, item)),
        );
      }
    } else {
      parts.push(
        pair(name, typeof value === 'number' ? number(operation, name, value) : checkFilter(operation, name, value)),
      );
    }
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

function pair(name: string, value: string): string {
  return `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
}

function number(operation: string, name: string, value: number): string {
  if (!Number.isSafeInteger(value)) throw new InvalidRequestError(operation, `${name} must be an integer`);
  return String(value);
}
