/** Steps of a scripted destination, as data that tests and the control API provide. */

const FAULTS = ['refuse', 'reset', 'hang', 'cut'] as const;

/**
 * Faults of a step. `refuse`: no connection. `reset`: the connection breaks before the response. `hang`: no response.
 * `cut`: status, headers and half of the body, then the connection breaks.
 */
type Fault = (typeof FAULTS)[number];

export interface ScriptedStep {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Delay before the response or fault, in milliseconds of the service's clock. */
  readonly afterMs?: number;
  /** Duration of the body, which is sent in parts, in milliseconds of the service's clock. */
  readonly bodyMs?: number;
  /** Seconds, or an HTTP date. */
  readonly retryAfter?: number | string;
  /** Adds the header that, with status 489, asks the service not to retry. */
  readonly nonRetryable?: boolean;
  readonly fault?: Fault;
  /** Number of requests for this step; default 1. The last step of a script applies to all later requests. */
  readonly times?: number;
}

/** A step, or a status or fault as its short form. */
export type StepLike = number | Fault | ScriptedStep;

/** An invalid script, with the place of the error. */
export class ScriptError extends Error {
  override readonly name = 'ScriptError';
}

const LONGEST_MS = 30 * 86_400_000;

type Check = readonly [is: (value: unknown) => boolean, must: string];

const CHECKS: Readonly<Record<keyof ScriptedStep, Check>> = {
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
export function readSteps(value: unknown): readonly ScriptedStep[] {
  if (!Array.isArray(value) || value.length === 0) throw new ScriptError('steps must be a list with at least one step');
  return value.map((step, index) => readStep(step, `steps[${index}]`));
}

function readStep(value: unknown, where: string): ScriptedStep {
  if (typeof value === 'number') return readStep({ status: value }, where);
  if (typeof value === 'string') return readStep({ fault: value }, where);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ScriptError(`${where} must be a status, a fault (${FAULTS.join(', ')}) or an object`);
  }
  for (const [name, given] of Object.entries(value)) {
    const check = Object.hasOwn(CHECKS, name) ? CHECKS[name as keyof ScriptedStep] : undefined;
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
