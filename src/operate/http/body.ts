import type { IncomingMessage } from 'node:http';
import { GatheredBytes } from '#foundation/platform/gathered-bytes.ts';
import { HttpError } from './reply.ts';

/** The whole body. Refuses with 413 what is too long, before it is read where its length is said. */
export async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const refusal = new HttpError(413, 'too_large', `The body must be at most ${maxBytes} bytes.`);
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw refusal;
  const body = new GatheredBytes();
  // Not `for await`: leaving that loop early would destroy the socket that the refusal must go out on.
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
