/** Requests of operations, from their values. */
import { checkHeaderValue, checkOneOf, checkUrl } from './arguments.ts';
import { operationNamed, type Operation, type OperationKey } from './operations.ts';
import { callValues, type OperationValues } from './operation-values.ts';
import { destinationPath, pathSegment, shownDestination } from './path.ts';
import { buildQuery, type QueryValue } from './query.ts';
import { InvalidRequestError } from './service-error.ts';
import { valueText, type Headers, type OperationValue } from './value-kinds.ts';
import type { WireNames } from './wire-names.ts';

export interface OperationRequest {
  readonly operation: string;
  readonly method: Operation['method'];
  readonly path: string;
  readonly shownPath: string;
  /** Headers by their name on the wire. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Texts that must not appear in a message. */
  readonly hidden: readonly string[];
}

/**
 * Returns the request. Of a bulk operation, `checkSelection` or the caller has checked what it acts on.
 *
 * @throws {InvalidRequestError}
 */
export function requestOf(operation: Operation, values: OperationValues, names: WireNames): OperationRequest {
  const { name, method } = operation;
  const parts = new RequestParts(operation, names);
  for (const [key, value] of Object.entries(values)) parts.add(key, value);
  const { query, headers, body, hidden } = parts;
  const [path, shownPath] = pathOf(operation, values, names);
  return {
    operation: name,
    method,
    path: path + buildQuery(name, query),
    shownPath,
    headers,
    body,
    hidden,
  };
}

/** Returns the request of a call by the daemon itself. @throws {InvalidRequestError} */
export function callRequest(name: string, given: object, names: WireNames): OperationRequest {
  const operation = operationNamed(name)!;
  return requestOf(operation, callValues(operation, given), names);
}

/** Ids of the entries on which a bulk operation acts; undefined if filters select them. */
export function selectedIds(values: OperationValues): readonly string[] | undefined {
  return values['dlqIds'] as readonly string[] | undefined;
}

/**
 * Rejects a bulk call that would act on everything, or on other entries than its caller thinks. Pages and times alone
 * select everything.
 */
export function checkSelection({ name, bulk, keys }: Operation, values: OperationValues): void {
  if (bulk === undefined) return;
  const queried = Object.keys(values).filter((key) => keys[key]!.in === 'query');
  if (selectedIds(values) !== undefined) {
    const [ignored] = queried.filter((key) => key !== 'dlqIds');
    if (ignored === undefined) return;
    throw new InvalidRequestError(name, `with dlqIds the service ignores ${ignored}; remove one of them`);
  }
  if (!queried.some((key) => keys[key]!.selects === true)) {
    const filters = Object.keys(keys).filter((key) => keys[key]!.selects === true);
    throw new InvalidRequestError(name, `it would act on everything; it needs one of ${filters.join(', ')}`);
  }
  if (bulk === 'message-dlq' && values['toDate'] === undefined)
    throw new InvalidRequestError(name, 'without dlqIds, toDate is required, because later dead letters would match');
}

class RequestParts {
  readonly query: [string, QueryValue][] = [];
  readonly headers: Record<string, string> = {};
  readonly hidden: string[] = [];
  body: string | Uint8Array | undefined;
  readonly #operation: Operation;
  readonly #names: WireNames;
  readonly #fields: Record<string, OperationValue> = {};

  constructor(operation: Operation, names: WireNames) {
    this.#operation = operation;
    this.#names = names;
  }

  add(key: string, value: OperationValue): void {
    const spec = this.#operation.keys[key]!;
    const wire = spec.wire ?? key;
    switch (spec.in) {
      case 'query':
        this.query.push([wire, value as QueryValue]);
        return;
      case 'header':
        this.#header(wire, spec, value);
        return;
      case 'content-type':
        this.headers['Content-Type'] = this.#checked(key, valueText(value));
        return;
      case 'body':
        this.#fields[wire === 'msgsvc_id' ? this.#names.accountIdField : wire] =
          spec.kind === 'plan' ? this.#plan(key, value) : value;
        this.headers['Content-Type'] = 'application/json';
        this.body = JSON.stringify(this.#fields);
        return;
      case 'raw':
        if (this.#operation.name === 'trigger') this.headers['Content-Type'] = 'text/plain';
        this.body = value instanceof Uint8Array ? value : valueText(value);
        this.hidden.push(String(Buffer.from(this.body)));
        return;
      case 'path':
        this.#hideQuery(spec, valueText(value));
        return;
      case 'daemon':
    }
  }

  /** Query and password of a URL may be secret. */
  #hideQuery({ kind }: OperationKey, value: string): void {
    const url = kind === 'destination' || kind === 'url' ? URL.parse(value) : null;
    if (url !== null) this.hidden.push(...[url.search, url.password].filter((part) => part !== ''));
  }

  #header(wire: string, { kind }: OperationKey, value: OperationValue): void {
    if (kind !== 'headers') {
      const text = Array.isArray(value) ? value.join(',') : valueText(value);
      this.headers[this.#names.header(wire)] = this.#checked(wire, text);
      return;
    }
    for (const [name, text] of Object.entries(value as Headers)) {
      this.headers[this.#names.header(`${wire}-${name}`)] = this.#checked(`${wire}-${name}`, text);
      this.hidden.push(text);
    }
  }

  #checked(name: string, text: string): string {
    return checkHeaderValue(this.#operation.name, name, text);
  }

  /** Plan names have the installation's product. The interface's own names are accepted as well. */
  #plan(key: string, value: OperationValue): string {
    const { plans } = this.#names;
    const own = ['paid', 'msgsvc_fixed_1m', 'msgsvc_fixed_10m', 'msgsvc_fixed_100m'].indexOf(valueText(value));
    return checkOneOf(this.#operation.name, key, own === -1 ? value : plans[own], plans);
  }
}

/** @returns the path, and the path for messages: URLs of destinations may contain secrets */
function pathOf({ name, path, keys }: Operation, values: OperationValues, names: WireNames): [string, string] {
  if (!path.includes('{')) return [path, path];
  let shown = path.replace('/v2/{product}', names.managementPath('').replace(/\/$/, ''));
  let real = shown;
  for (const [key, { kind, in: place }] of Object.entries(keys)) {
    if (place !== 'path') continue;
    const value = values[key];
    const isUrl = kind === 'destination' || kind === 'url';
    const segment =
      kind === 'destination'
        ? destinationPath(name, value)
        : kind === 'url'
          ? checkUrl(name, key, value)
          : pathSegment(name, key, value);
    real = real.replace(`{${key}}`, () => segment);
    shown = shown.replace(`{${key}}`, () => (isUrl ? shownDestination(valueText(value)) : segment));
  }
  return [real, shown];
}
