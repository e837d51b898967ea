/** Steps of a scripted destination, as data that tests and the control API provide. */
import type { StepDetails, StepFault } from '../types/public.ts';

const FAULTS: readonly StepFault[] = ['refuse', 'reset', 'hang', 'cut'];

/** An invalid script, with the place of the error. */
export class ScriptError extends Error {
  override readonly name = 'ScriptError';
}

const LONGEST_MS = 30 * 86_400_000;

type Check = readonly [is: (value: unknown) => boolean, must: string];

const CHECKS: Readonly<Record<keyof StepDetails, Check>> = {
  status: [whole(200, 599), 'a status from 200 to 599'],
  headers: [isHeaders, 'header names with strings, without line breaks'],
  body: [isText, 'a string'],
  afterMs: [whole(0, LONGEST_MS), 'milliseconds, at most 30 days'],
  bodyMs: [whole(0, LONGEST_MS), 'milliseconds, at most 30 days'],
  retryAfter: [
    (value) => whole(0, Number.MAX_SAFE_INTEGER)(value) || (isText(value) && isHeaderValue(value)),
    'seconds or a date',
  ],
  nonRetryable: [(value) => typeof value === 'boolean', 'true or false'],
  fault: [(value) => (FAULTS as readonly unknown[]).includes(value), `one of ${FAULTS.join(', ')}`],
  times: [whole(1, 1_000_000), 'a whole number from 1 to 1000000'],
};

/**
 * Parses steps from JSON or from a test.
 *
 * @throws {ScriptError}
 */
export function readSteps(value: unknown): readonly StepDetails[] {
  if (!Array.isArray(value) || value.length === 0) throw new ScriptError('steps must be a list with at least one step');
  return value.map((step, index) => readStep(step, `steps[${index}]`));
}

function readStep(value: unknown, where: string): StepDetails {
  if (typeof value === 'number') return readStep({ status: value }, where);
  if (typeof value === 'string') return readStep({ fault: value }, where);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ScriptError(`${where} must be a status, a fault (${FAULTS.join(', ')}) or an object`);
  }
  for (const [name, given] of Object.entries(value)) {
    const check = Object.hasOwn(CHECKS, name) ? CHECKS[name as keyof StepDetails] : undefined;
    if (check === undefined) {
      throw new ScriptError(`${where} has the unknown field ${name}; known fields: ${Object.keys(CHECKS).join(', ')}`);
    }
    if (given !== undefined && !check[0](given)) throw new ScriptError(`${where}.${name} must be ${check[1]}`);
  }
  return value;
}

function whole(least: number, most: number): (value: unknown) => boolean {
  return (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isHeaders(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).every(
    ([name, text]) => /^[\w!#$%&'*+.^`|~-]+$/.test(name) && isText(text) && isHeaderValue(text),
  );
}

function isHeaderValue(text: string): boolean {
  return !/\p{Cc}/u.test(text.replaceAll('\t', ''));
}
