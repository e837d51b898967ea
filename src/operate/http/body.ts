/** Bodies of requests, limited in size, and as JSON in depth and number of values as well. */
import type { IncomingMessage } from 'node:http';
import { readBody } from '#foundation/http/body.ts';
import { exceededJsonBound } from '#foundation/platform/json-bounds.ts';
import { HttpError } from './reply.ts';

/** Limits. A notification of a thousand alerts has about forty values for each alert, and five levels. */
const BOUNDS = { depth: 32, values: 100_000 };

/** Reads the whole body. Rejects a longer one with 413. */
export function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return readBody(request, maxBytes, {
    tooLarge: () => new HttpError(413, 'too_large', `The body must be at most ${maxBytes} bytes.`),
    endedEarly: () => new HttpError(400, 'bad_request', 'The body ended early.'),
  });
}

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

/**
 * @param empty value of an empty body, if one is allowed
 * @throws {HttpError} 413, or 400 with the message for a body that is not JSON
 */
export async function readParsed(
  request: IncomingMessage,
  maxBytes: number,
  message: string,
  empty?: object,
): Promise<unknown> {
  const bytes = await readBytes(request, maxBytes);
  if (bytes.length === 0 && empty !== undefined) return empty;
  try {
    return parseBounded(bytes, bytes.toString('utf8'));
  } catch (error) {
    throw error instanceof HttpError ? error : new HttpError(400, 'bad_request', message);
  }
}
