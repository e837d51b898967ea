/** Values of an operation's keys: each one checked, and valid on the wire. */
import { suggestion } from '#foundation/domain/suggest.ts';
import { checkOneOf, checkText } from './arguments.ts';
import type { Operation, OperationKey } from './operations.ts';
import { InvalidRequestError } from './service-error.ts';
import { CHECKS, HEADER_NAME, LISTS, type Headers, type OperationValue } from './value-kinds.ts';

/** Checked values by key. Absent keys are not sent. */
export type OperationValues = Readonly<Record<string, OperationValue>>;

/**
 * Reads the values of an operation.
 *
 * @throws {InvalidRequestError} for an unknown key, a missing one, or an invalid value; it never shows a value
 */
export function readValues(operation: Operation, given: Readonly<Record<string, unknown>>): OperationValues {
  const { name, keys } = operation;
  const values: Record<string, OperationValue> = {};
  const forwarded: Record<string, Record<string, string>> = {};
  for (const [key, value] of Object.entries(given)) {
    const spec = keys[key];
    if (Object.hasOwn(keys, key) && spec !== undefined) {
      values[key] = checkKey(name, key, { spec, value });
      continue;
    }
    const header = singleHeader(operation, key);
    if (header === undefined) throw unknownKey(operation, key);
    (forwarded[header.key] ??= {})[header.name] = checkText(name, key, value);
  }
  for (const [key, headers] of Object.entries(forwarded)) values[key] = { ...(values[key] as Headers), ...headers };
  const missing = Object.entries(keys).find(([key, spec]) => spec.required === true && values[key] === undefined);
  if (missing !== undefined) throw new InvalidRequestError(name, `${missing[0]} is required: ${missing[1].help}`);
  checkFlowControl(operation, values);
  return values;
}

/**
 * Reads the values of a call by the daemon itself. Undefined values are absent, except filters of a bulk call: it would
 * act on more. A list must be one: the text of a command line could become several values.
 *
 * @throws {InvalidRequestError} as `readValues`
 */
export function callValues(operation: Operation, given: object): OperationValues {
  const values: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(given)) {
    const spec = Object.hasOwn(operation.keys, key) ? operation.keys[key] : undefined;
    const isFilter = operation.bulk !== undefined && spec?.in === 'query' && key !== 'cursor';
    if (value === undefined && !isFilter) continue;
    if (spec !== undefined && LISTS.has(spec.kind) && !Array.isArray(value)) {
      throw new InvalidRequestError(operation.name, `${key} must be a list`);
    }
    values[key] = value;
  }
  return readValues(operation, values);
}

function checkKey(
  operation: string,
  key: string,
  { spec, value }: { readonly spec: OperationKey; readonly value: unknown },
): OperationValue {
  if (spec.kind === 'choice') return checkOneOf(operation, key, value, spec.values ?? []);
  return CHECKS[spec.kind](operation, key, value);
}

/** Returns the header of a key such as `forwardMyHeader`: `My-Header`, for the key `forward`. */
function singleHeader({ keys }: Operation, given: string): { readonly key: string; readonly name: string } | undefined {
  const key = Object.keys(keys).find(
    (one) => keys[one]!.kind === 'headers' && given.startsWith(one) && /^[A-Z]/.test(given.slice(one.length)),
  );
  if (key === undefined) return undefined;
  const name = given.slice(key.length).replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '-');
  return HEADER_NAME.test(name) ? { key, name } : undefined;
}

function unknownKey({ name, keys }: Operation, given: string): InvalidRequestError {
  const known = Object.keys(keys);
  const hint = suggestion(given, known);
  const list = known.length === 0 ? 'it has no keys' : `its keys are ${known.join(', ')}`;
  return new InvalidRequestError(name, `there is no key ${JSON.stringify(given.slice(0, 100))}${hint} (${list})`);
}

/** The service needs the key and the value of a flow control together. */
function checkFlowControl({ name, keys }: Operation, values: OperationValues): void {
  const key = Object.hasOwn(keys, 'overrideFlowControlKey') ? 'overrideFlowControlKey' : 'flowControlKey';
  if (!Object.hasOwn(keys, 'flowControlValue')) return;
  if ((values[key] === undefined) !== (values['flowControlValue'] === undefined))
    throw new InvalidRequestError(name, `${key} and flowControlValue require each other`);
}
