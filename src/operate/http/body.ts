import type { IncomingMessage } from 'node:http';
import { GatheredBytes } from '#foundation/platform/gathered-bytes.ts';
import { HttpError } from './reply.ts';

/** Reads the whole body. Rejects a longer one with 413, before reading it if its length is declared. */
export async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const refusal = new HttpError(413, 'too_large', `The body must be at most ${maxBytes} bytes.`);
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw refusal;
  const body = new GatheredBytes();
  // Not `for await`: leaving that loop early would destroy the socket that must send the response.
  await new Promise<void>((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      if (body.length + chunk.length > maxBytes) {
        request.removeAllListeners('data').pause();
        body.discard();
        reject(refusal);
      } else {
        body.add(chunk);
      }
    });
    request.once('end', resolve);
    const cutOff = (): void => reject(new HttpError(400, 'bad_request', 'The body ended early.'));
    request.once('error', cutOff);
    request.once('close', cutOff);
  });
  return body.take();
}
