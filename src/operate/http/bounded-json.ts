/** JSON of requests, bounded in depth and number of values before anything is built of it. */
import { exceededJsonBound } from '#foundation/platform/json-bounds.ts';
import { HttpError } from './reply.ts';

/** A notification of a thousand alerts has some forty values an alert, and nests five deep. */
const BOUNDS = { depth: 32, values: 100_000 };

/**
 * @param text the bytes, decoded
 * @throws {HttpError} 400
 * @throws {SyntaxError}
 */
export function parseBounded(bytes: Buffer, text: string): unknown {
  const exceeded = exceededJsonBound(bytes, BOUNDS);
  if (exceeded !== undefined) throw new HttpError(400, 'bad_request', `The JSON is too complex: ${exceeded}.`);
  return JSON.parse(text) as unknown;
}
