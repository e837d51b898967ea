/** Bodies of requests, with a limit. */
import type { IncomingMessage } from 'node:http';
import { GatheredBytes } from '../platform/gathered-bytes.ts';

/** Errors of a body that cannot be read whole. */
export interface BodyErrors {
  readonly tooLarge: () => Error;
  readonly endedEarly: () => Error;
}

/**
 * Reads the whole body. Rejects a longer one before reading it, if its length is declared. The rest of a rejected body
 * stays unread: the server discards it, or closes the connection after the response.
 */
export async function readBody(request: IncomingMessage, maxBytes: number, errors: BodyErrors): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw errors.tooLarge();
  const body = new GatheredBytes();
  // Not `for await`: leaving that loop early would destroy the socket that must send the response.
  await new Promise<void>((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      if (body.length + chunk.length > maxBytes) {
        request.removeAllListeners('data').pause();
        body.discard();
        reject(errors.tooLarge());
      } else {
        body.add(chunk);
      }
    });
    request.once('end', resolve);
    const cutOff = (): void => {
      // `close` follows every request.
      if (!request.complete) reject(errors.endedEarly());
    };
    request.once('error', cutOff);
    request.once('close', cutOff);
  });
  return body.take();
}
