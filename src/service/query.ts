/**
 * Builds queries of the service. The danger is a lost filter: a bulk call without filters acts on everything. Every
 * given filter must therefore reach the wire as intended, or the call is rejected.
 */
import {
  checkCount,
  checkFilter,
  checkListItem,
  checkMembers,
  checkOneOf,
  checkTexts,
  checkTime,
} from './arguments.ts';
import { InvalidRequestError } from './service-error.ts';

export type QueryValue = string | number | readonly (string | number)[];

/** Checks a parameter and returns it in the form to send. */
export type QueryCheck = (operation: string, name: string, value: unknown) => QueryValue;

/** Parameters of an operation, by name. */
export type QueryTable = Readonly<Record<string, QueryCheck>>;

export const text: QueryCheck = checkFilter;
export const id: QueryCheck = checkListItem;
export const texts: QueryCheck = (operation, name, value) => checkTexts(operation, name, value);
export const time: QueryCheck = checkTime;
export const count: QueryCheck = checkCount;

export function oneOf(allowed: readonly string[]): QueryCheck {
  return (operation, name, value) => checkOneOf(operation, name, value, allowed);
}

/** Checks HTTP statuses. The service uses 0 for a missing response. */
export const statuses: QueryCheck = (operation, name, value) => {
  if (!Array.isArray(value) || value.length === 0) {
    throw new InvalidRequestError(operation, `${name} must be a list of at least one status`);
  }
  return Array.from(value, (status: unknown) => {
    if (Number.isInteger(status) && (status === 0 || ((status as number) >= 100 && (status as number) <= 599))) {
      return status as number;
    }
    throw new InvalidRequestError(operation, `${name} must contain HTTP statuses`);
  });
};

/**
 * Returns the query of a typed filter. An absent member is not sent. A member that is present and undefined, or that
 * the operation does not have, is rejected.
 *
 * @returns `?a=1&b=2`, or the empty string
 */
export function filterQuery(operation: string, filter: object, table: QueryTable): string {
  checkMembers(operation, filter, Object.keys(table));
  return buildQuery(
    operation,
    Object.entries(filter).map(([name, value]) => [name, table[name]!(operation, name, value)]),
  );
}

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
