/** The JSON body of a verb, read strictly: what is not known is refused with the form that was expected. */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { readBytes } from './body.ts';
import { parseBounded } from './bounded-json.ts';
import { HttpError } from './reply.ts';

const MAX_REASON = 500;
/** No verb takes more than a name and a few options. */
const MAX_BODY_BYTES = 65_536;

/** A text of a person, kept in the audit log. */
export function reasonField() {
  return z.string('must be a text').trim().min(1, 'must say why').max(MAX_REASON, `may have ${MAX_REASON} characters`);
}

export function nameField(what: string) {
  return z.string(`must be ${what}`).min(1, `must be ${what}`);
}

/** @param form what the body looks like, for the error */
export async function readJson<S extends z.ZodType>(
  request: IncomingMessage,
  schema: S,
  form: string,
): Promise<z.output<S>> {
  const body = await readBytes(request, MAX_BODY_BYTES);
  let value: unknown;
  try {
    value = parseBounded(body, body.toString('utf8'));
  } catch (error) {
    if (error instanceof HttpError) throw error;
    throw new HttpError(400, 'bad_request', `The body must be JSON: ${form}`);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(faultOf).join('; ');
  throw new HttpError(400, 'bad_request', `${faults}. The body must be: ${form}`);
}

function faultOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') {
    return `not known here: ${issue.keys.map((key) => key.slice(0, 100)).join(', ')}`;
  }
  const path = issue.path.map(String).join('.').slice(0, 200);
  return path === '' ? 'it is no object' : `${path} ${issue.message}`;
}
