/** JSON of requests, limited in depth and number of values before it is parsed. */
import { exceededJsonBound } from '#foundation/platform/json-bounds.ts';
import { HttpError } from './reply.ts';

/** Limits. A notification of a thousand alerts has about forty values for each alert, and five levels. */
const BOUNDS = { depth: 32, values: 100_000 };

/**
 * @param text the decoded bytes
 * @throws {HttpError} 400
 * @throws {SyntaxError}
 */
export function parseBounded(bytes: Buffer, text: string): unknown {
  const exceeded = exceededJsonBound(bytes, BOUNDS);
  if (exceeded !== undefined) throw new HttpError(400, 'bad_request', `The JSON is too complex: ${exceeded}.`);
  return JSON.parse(text) as unknown;
}
