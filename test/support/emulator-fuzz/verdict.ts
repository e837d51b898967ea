/** Checks the response to a case. */
import type { FuzzCase } from './fuzz-case.ts';
import type { RawAnswer } from './raw-client.ts';

/** Allowed responses while faults of the service are active. */
export interface Tolerance {
  /** Statuses that a fault may cause. */
  readonly statuses?: readonly number[];
  /** True if responses may be lost, or end in their middle. */
  readonly broken?: boolean;
  /** True if filters are ignored, so that faults in them are undetected. */
  readonly blind?: boolean;
}

/** Statuses of errors that do not depend on the content of the request. */
const NOT_NOW = [403, 412, 429];

/** @returns undefined when the response is valid */
export function verdict(
  { bad, where }: FuzzCase,
  answers: readonly RawAnswer[],
  { statuses = [], broken = false, blind = false }: Tolerance = {},
): string | undefined {
  const [first] = answers;
  if (first === undefined) return broken ? undefined : 'it was not answered';
  for (const { status, body } of answers) {
    if (status === 200 || status === 202 || statuses.includes(status)) continue;
    if (status !== 501 && (status < 400 || status > 499)) return `it was answered ${status}: ${body.slice(0, 300)}`;
    const error = errorOf(body);
    if (error === undefined && !broken) return `${status} came without a JSON error: ${body.slice(0, 300)}`;
  }
  if (first.status < 400)
    return bad && !blind ? `it was taken: ${first.status} ${first.body.slice(0, 300)}` : undefined;
  const error = errorOf(first.body)?.toLowerCase();
  if (error === undefined || where === undefined || [...NOT_NOW, ...statuses].includes(first.status)) return undefined;
  const named = where.some((name) => error.includes(name.toLowerCase()));
  return named ? undefined : `${first.status} names none of ${where.join(', ').slice(0, 200)}: ${error.slice(0, 300)}`;
}

function errorOf(body: string): string | undefined {
  try {
    const { error } = JSON.parse(body) as { readonly error?: unknown };
    return typeof error === 'string' && error.length > 5 ? error : undefined;
  } catch {
    return undefined;
  }
}
