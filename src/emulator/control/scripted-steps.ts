/** What a scripted destination does with one request after the other: data, as tests and the control path give it. */

const FAULTS = ['refuse', 'reset', 'hang', 'cut'] as const;

/**
 * `refuse`: no connection. `reset`: the connection breaks before the answer. `hang`: no answer, ever. `cut`: status
 * and headers, half of the body, and the connection breaks.
 */
type Fault = (typeof FAULTS)[number];

export interface ScriptedStep {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Before the answer or its fault; milliseconds on the service's clock. */
  readonly afterMs?: number;
  /** Over which the body comes in pieces; milliseconds on the service's clock. */
  readonly bodyMs?: number;
  /** Seconds, or a date as HTTP writes it. */
  readonly retryAfter?: number | string;
  /** Adds the header by which a destination says, with 489, that trying again is of no use. */
  readonly nonRetryable?: boolean;
  readonly fault?: Fault;
  /** Requests that this step is for, default 1. The last step of a script is for all that follow. */
  readonly times?: number;
}

/** A number is a status, a word a fault. */
export type StepLike = number | Fault | ScriptedStep;

/** What is wrong with a script, and where. */
export class ScriptError extends Error {
  override readonly name = 'ScriptError';
}

const LONGEST_MS = 30 * 86_400_000;

type Check = readonly [is: (value: unknown) => boolean, must: string];

const CHECKS: Readonly<Record<keyof ScriptedStep, Check>> = {
  status: [whole(200, 599), 'a status from 200 to 599'],
  headers: [isHeaders, 'header names with texts, without line breaks'],
  body: [isText, 'a text'],
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
 * Takes what came as JSON as well as what a test wrote.
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
      throw new ScriptError(`${where} has ${name}, which no step has; it may have ${Object.keys(CHECKS).join(', ')}`);
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
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text);
}
