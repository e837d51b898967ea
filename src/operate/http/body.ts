import type { IncomingMessage } from 'node:http';
import { readBody } from '#foundation/http/body.ts';
import { HttpError } from './reply.ts';

/** Reads the whole body. Rejects a longer one with 413. */
export function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return readBody(request, maxBytes, {
    tooLarge: () => new HttpError(413, 'too_large', `The body must be at most ${maxBytes} bytes.`),
    endedEarly: () => new HttpError(400, 'bad_request', 'The body ended early.'),
  });
}
