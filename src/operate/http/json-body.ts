/** JSON body of a command, parsed strictly: unknown keys are rejected with the expected format. */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { readParsed } from './body.ts';
import { HttpError } from './reply.ts';

/** Maximum size: commands have only a name and a few options. */
const MAX_BODY_BYTES = 65_536;

/** @param form format of the body, for the error */
export async function readJson<S extends z.ZodType>(
  request: IncomingMessage,
  schema: S,
  form: string,
  maxBytes?: number,
): Promise<z.output<S>> {
  return checkBody(await readValue(request, form, maxBytes), schema, form);
}

/** Reads a body whose format depends on its content. */
export function readValue(request: IncomingMessage, form: string, maxBytes = MAX_BODY_BYTES): Promise<unknown> {
  return readParsed(request, maxBytes, `The body must be JSON: ${form}`);
}

export function checkBody<S extends z.ZodType>(value: unknown, schema: S, form: string): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(faultOf).join('; ');
  throw new HttpError(400, 'bad_request', `${faults}. The body must be: ${form}`);
}

function faultOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') {
    return `unknown keys: ${issue.keys.map((key) => key.slice(0, 100)).join(', ')}`;
  }
  const path = issue.path.map(String).join('.').slice(0, 200);
  return path === '' ? 'the body is not an object' : `${path} ${issue.message}`;
}
