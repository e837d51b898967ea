/**
 * Kinds of values of operations. Each check accepts JSON, and the text of `key=value` on a command line, with the same
 * meaning.
 */
import { jsonOf } from '#foundation/domain/json.ts';
import {
  checkCount,
  checkHeaderValue,
  checkInteger,
  checkListItem,
  checkMembers,
  checkSeconds,
  checkText,
  checkTexts,
  checkTime,
  checkUrl,
  checkWireDuration,
  MAX_COUNT,
} from './arguments.ts';
import { InvalidRequestError } from './service-error.ts';

export type Headers = Readonly<Record<string, string>>;
type Endpoint = { readonly url: string; readonly name?: string };
export type OperationValue =
  | string
  | number
  | boolean
  | readonly (string | number)[]
  | Headers
  | readonly Endpoint[]
  | Uint8Array;

export const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const REDACTION = /^(?:body|headers|header\[[!#$%&'*+\-.^_`|~0-9A-Za-z]+\])$/;
const ANY_AMOUNT = { min: 0, max: Number.MAX_SAFE_INTEGER };
const MAX_BUDGET = 10_000;
const MIN_BUDGET = 20;

type Check = (operation: string, name: string, value: unknown) => OperationValue;

/** Checks by kind. The values of a `choice` are in its key. */
export const CHECKS = {
  text: checkText,
  id: checkListItem,
  texts: (operation, name, value) => checkTexts(operation, name, listOf(value)),
  ids: (operation, name, value) => checkTexts(operation, name, listOf(value), MAX_COUNT),
  statuses: (operation, name, value) => statuses(operation, name, listOf(value, numberOf)),
  time: (operation, name, value) => checkTime(operation, name, numberOf(value)),
  seconds: (operation, name, value) => checkSeconds(operation, name, numberOf(value)),
  count: (operation, name, value) => checkCount(operation, name, numberOf(value)),
  amount: (operation, name, value) => checkInteger(operation, name, numberOf(value), ANY_AMOUNT),
  budget(operation, name, value) {
    const dollars = checkInteger(operation, name, numberOf(value), { min: 0, max: MAX_BUDGET });
    if (dollars !== 0 && dollars < MIN_BUDGET)
      throw new InvalidRequestError(operation, `${name} must be 0 for unlimited, or ${MIN_BUDGET} to ${MAX_BUDGET}`);
    return dollars;
  },
  boolean(operation, name, value) {
    if (value === true || value === 'true') return true;
    if (value === false || value === 'false') return false;
    throw new InvalidRequestError(operation, `${name} must be true or false`);
  },
  duration: checkWireDuration,
  url: checkUrl,
  destination: checkText,
  plan: checkText,
  choice: checkText,
  redactions(operation, name, value) {
    const fields = checkTexts(operation, name, listOf(value));
    if (fields.every((field) => REDACTION.test(field))) return fields;
    throw new InvalidRequestError(operation, `${name} must be body, headers or header[NAME]`);
  },
  headers: checkHeaders,
  endpoints: checkEndpoints,
  body(operation, name, value) {
    if (typeof value === 'string' || value instanceof Uint8Array) return value;
    throw new InvalidRequestError(operation, `${name} must be text`);
  },
} as const satisfies Readonly<Record<string, Check>>;

export type ValueKind = keyof typeof CHECKS;

/** Kinds whose values are lists. */
export const LISTS: ReadonlySet<ValueKind> = new Set(['texts', 'ids', 'statuses', 'redactions']);

/** Returns a single value as text. */
export function valueText(value: OperationValue | undefined): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Reads a list: an array, or text with a JSON array or with commas. */
function listOf(value: unknown, itemOf: (item: unknown) => unknown = (item) => item): unknown {
  const list = typeof value === 'number' ? [value] : typeof value === 'string' ? splitList(value) : value;
  return Array.isArray(list) ? list.map(itemOf) : list;
}

/** Checks HTTP statuses. The service uses 0 for a missing response. */
function statuses(operation: string, name: string, value: unknown): readonly number[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw new InvalidRequestError(operation, `${name} must be a list of at least one status`);
  }
  return Array.from(value, (status: unknown) => {
    if (Number.isInteger(status) && (status === 0 || ((status as number) >= 100 && (status as number) <= 599))) {
      return status as number;
    }
    throw new InvalidRequestError(operation, `${name} must contain HTTP statuses`);
  });
}

function splitList(text: string): unknown {
  const parsed = text.trimStart().startsWith('[') ? jsonOf(text) : undefined;
  return Array.isArray(parsed) ? parsed : text.split(',').map((item) => item.trim());
}

function numberOf(value: unknown): unknown {
  return typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : value;
}

/** Returns the value of a JSON text, or a value that is not a text. */
function valueOf(value: unknown): unknown {
  return typeof value === 'string' ? jsonOf(value) : value;
}

function checkHeaders(operation: string, name: string, value: unknown): Headers {
  const headers = valueOf(value);
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers))
    throw new InvalidRequestError(operation, `${name} must be a JSON object of headers`);
  for (const [header, text] of Object.entries(headers)) {
    if (!HEADER_NAME.test(header))
      throw new InvalidRequestError(operation, `${name} has a name that is not valid for a header`);
    checkHeaderValue(operation, `${name}.${header}`, text);
  }
  return headers as Headers;
}

/** Checks the endpoints of a URL Group: a list of `{url, name}`. */
function checkEndpoints(operation: string, name: string, value: unknown): readonly Endpoint[] {
  const endpoints = valueOf(value);
  if (!Array.isArray(endpoints) || endpoints.length === 0)
    throw new InvalidRequestError(operation, `${name} must be a list with at least one endpoint`);
  return Array.from(endpoints, (endpoint: unknown) => {
    if (typeof endpoint !== 'object' || endpoint === null)
      throw new InvalidRequestError(operation, `${name} must be a list of {"url": …, "name": …}`);
    checkMembers(operation, endpoint, ['url', 'name']);
    const { url, name: label } = endpoint as Partial<Endpoint>;
    const checked = checkUrl(operation, 'url', url);
    return label === undefined ? { url: checked } : { url: checked, name: checkText(operation, 'name', label) };
  });
}
