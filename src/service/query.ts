/**
 * Queries of the service. The danger is a filter that gets lost on the way: a bulk call without filters acts on
 * everything. So whatever is given must reach the wire as it was meant, or the call is refused.
 */
import { checkCount, checkListItem, checkMembers, checkOneOf, checkText, checkTexts, checkTime } from './arguments.ts';
import { InvalidRequestError } from './service-error.ts';

export type QueryValue = string | number | readonly (string | number)[];

/** Checks one parameter and gives it in the form that is sent. */
export type QueryCheck = (operation: string, name: string, value: unknown) => QueryValue;

/** The parameters that an operation has, by name. */
export type QueryTable = Readonly<Record<string, QueryCheck>>;

export const text: QueryCheck = checkText;
export const texts: QueryCheck = (operation, name, value) => checkTexts(operation, name, value);
export const time: QueryCheck = checkTime;
export const count: QueryCheck = checkCount;

export function oneOf(allowed: readonly string[]): QueryCheck {
  return (operation, name, value) => checkOneOf(operation, name, value, allowed);
}

/** HTTP statuses; 0 is the service's word for no answer. */
export const statuses: QueryCheck = (operation, name, value) => {
  if (!Array.isArray(value) || value.length === 0) {
    throw new InvalidRequestError(operation, `${name} must be a list of at least one status`);
  }
  return Array.from(value, (status: unknown) => {
    if (Number.isInteger(status) && (status === 0 || ((status as number) >= 100 && (status as number) <= 599))) {
      return status as number;
    }
    throw new InvalidRequestError(operation, `${name} must hold HTTP statuses`);
  });
};

/**
 * The query of a typed filter. A member that is absent is not sent; one that is present and undefined, or that the
 * operation does not have, is refused.
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
 * Serialises parameters in the order given; lists by repeating the parameter.
 *
 * @returns `?a=1&b=2`, or the empty string when there are none
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
        pair(name, typeof value === 'number' ? number(operation, name, value) : checkText(operation, name, value)),
      );
    }
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

function pair(name: string, value: string): string {
  return `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
}

function number(operation: string, name: string, value: number): string {
  if (!Number.isSafeInteger(value)) throw new InvalidRequestError(operation, `${name} must be a whole number`);
  return String(value);
}
