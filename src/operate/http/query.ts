/** Query of a request, parsed strictly: an unknown parameter is rejected, since it would otherwise filter nothing. */
import { z } from 'zod';
import { MAX_PAST_TIME, PAST_TIME, PAST_TIME_FORM, pastTime } from '#foundation/domain/past-time.ts';
import { HttpError } from './reply.ts';

const MAX_TEXT = 1_000;

/** Text with 1 to `max` characters. */
export function boundedText(max: number) {
  return z.string('must be a string').min(1, 'must not be empty').max(max, `must have at most ${max} characters`);
}

export function textParameter(description: string) {
  return boundedText(MAX_TEXT).exactOptional().describe(description);
}

export function limitParameter(bounds: { readonly standard: number; readonly max: number }) {
  const wrong = `must be an integer from 1 to ${bounds.max}`;
  return z
    .preprocess(
      // Number() also accepts texts such as `0x10`, `1e2` and ` 5`.
      (text) => (typeof text === 'string' && /^[1-9]\d*$/.test(text) ? Number(text) : text),
      z.int(wrong).min(1, wrong).max(bounds.max, wrong),
    )
    .default(bounds.standard)
    .describe('Maximum number of rows.');
}

/** @param form of all cursors of the list, default: ids and base64url; the search decides if one is known */
export function cursorParameter(form = /^[\w-]+$/) {
  const wrong = 'must be the cursor of the previous page';
  return z
    .string(wrong)
    .max(MAX_TEXT, wrong)
    .regex(form, wrong)
    .exactOptional()
    .describe('`cursor` of the previous page.');
}

/** @see pastOf */
export function pastParameter(description: string) {
  const wrong = `must be ${PAST_TIME_FORM}`;
  return z
    .string(wrong)
    .max(MAX_PAST_TIME, wrong)
    .regex(PAST_TIME, wrong)
    .exactOptional()
    .describe(`${description}: epoch milliseconds, ISO 8601, or a duration before now, such as \`2h\`.`);
}

/** Returns epoch milliseconds, at least 0, of the value of a `pastParameter`. */
export function pastOf(text: string, now: number): number {
  return pastTime(text, now)!;
}

/** @throws {HttpError} 400 with every problem */
export function readQuery<S extends z.ZodObject>(query: URLSearchParams, schema: S): z.output<S> {
  const given: Record<string, string | readonly string[]> = {};
  for (const name of new Set(query.keys())) {
    const values = query.getAll(name);
    const field = Object.hasOwn(schema.shape, name) ? (schema.shape[name] as z.ZodType) : undefined;
    // A name such as `__proto__` is a parameter as any other. The schema does not see it.
    if (field === undefined && name in Object.prototype) throw badRequest(unknown([name], schema));
    if (values.length > 1 && field !== undefined && !isList(field)) throw badRequest(`${name} must not be repeated`);
    given[name] = field !== undefined && isList(field) ? values : values[0]!;
  }
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw badRequest(parsed.error.issues.map((issue) => faultOf(issue, schema)).join('; '));
}

function isList(field: z.ZodType): boolean {
  if (field instanceof z.ZodArray) return true;
  return 'unwrap' in field && typeof field.unwrap === 'function' && isList((field.unwrap as () => z.ZodType)());
}

function faultOf(issue: z.core.$ZodIssue, schema: z.ZodObject): string {
  if (issue.code !== 'unrecognized_keys') return `${String(issue.path[0])} ${issue.message}`;
  return unknown(issue.keys, schema);
}

function unknown(names: readonly string[], schema: z.ZodObject): string {
  const shown = names.map((name) => name.slice(0, 100)).join(', ');
  const available = Object.keys(schema.shape).join(', ') || 'none';
  return `unknown parameters: ${shown}; available: ${available}`;
}

function badRequest(message: string): HttpError {
  return new HttpError(400, 'bad_request', `${message}.`);
}
