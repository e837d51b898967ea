/** Query of a request, parsed strictly: an unknown parameter is rejected, since it would otherwise filter nothing. */
import { z } from 'zod';
import { pastTime } from '#foundation/domain/past-time.ts';
import { HttpError } from './reply.ts';

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
