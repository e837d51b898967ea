/** JSON from external senders: limited in bytes and depth, strict UTF-8, and never quoted in a response. */
import type { IncomingMessage } from 'node:http';
import { parseBounded, readBytes } from '../http/body.ts';
import { HttpError } from '../http/reply.ts';

export interface HookBody {
  /** Original bytes, for signatures. */
  readonly bytes: Buffer;
  readonly value: unknown;
}

/** @throws {HttpError} 400, 413 or 415 */
export async function readHookJson(request: IncomingMessage, maxBytes: number): Promise<HookBody> {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new HttpError(415, 'bad_request', 'The body must not have a Content-Encoding.');
  }
  const bytes = await readBytes(request, maxBytes);
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { bytes, value: parseBounded(bytes, text) };
  } catch (error) {
    throw error instanceof HttpError ? error : malformed('The body must be JSON in UTF-8.');
  }
}

export function malformed(message: string): HttpError {
  return new HttpError(400, 'bad_request', message);
}
