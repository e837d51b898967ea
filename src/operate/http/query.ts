/** Query of a request, parsed strictly: an unknown parameter is rejected, since it would otherwise filter nothing. */
import { z } from 'zod';
import { parseDuration } from '#foundation/domain/duration.ts';
import { HttpError } from './reply.ts';

const MAX_TEXT = 1_000;

export function textParameter(description: string) {
  return z
    .string()
    .min(1, 'must not be empty')
    .max(MAX_TEXT, `must have at most ${MAX_TEXT} characters`)
    .exactOptional()
    .describe(description);
}

export function limitParameter(bounds: { readonly standard: number; readonly max: number }) {
  const wrong = `must be an integer from 1 to ${bounds.max}`;
  return z.coerce
    .number(wrong)
    .int(wrong)
    .min(1, wrong)
    .max(bounds.max, wrong)
    .default(bounds.standard)
    .describe('Maximum number of rows.');
}

export const cursorParameter = textParameter('`cursor` of the previous page.');

/** @see pastOf */
export function pastParameter(description: string) {
  return textParameter(`${description}: epoch milliseconds, ISO 8601, or a duration before now, such as \`2h\`.`);
}

/**
 * Returns epoch milliseconds of a time in the past.
 *
 * @throws {HttpError} 400 if the text is no time
 */
export function pastOf(name: string, text: string, now: number): number {
  if (/^\d{10,16}$/.test(text)) return Number(text);
  const ago = parseDuration(text);
  if (ago !== undefined) return now - ago;
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  throw badRequest(`${name} must be epoch milliseconds, ISO 8601, or a duration before now such as 2h`);
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
  return `unknown parameters: ${shown}; available: ${Object.keys(schema.shape).join(', ')}`;
}

function badRequest(message: string): HttpError {
  return new HttpError(400, 'bad_request', `${message}.`);
}
