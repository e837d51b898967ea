import type { IncomingMessage } from 'node:http';
import { HttpError } from './reply.ts';

/** No verb takes more than a name and a few options. */
const MAX_BODY_BYTES = 65_536;

/** The whole body as text. */
export async function readBody(request: IncomingMessage): Promise<string> {
  return (await readBytes(request, MAX_BODY_BYTES)).toString('utf8');
}

/** The whole body. Refuses with 413 what is too long, before it is read where its length is said. */
export async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const refusal = new HttpError(413, 'too_large', `The body must be at most ${maxBytes} bytes.`);
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw refusal;
  const chunks: Buffer[] = [];
  let length = 0;
  // Not `for await`: leaving that loop early would destroy the socket that the refusal must go out on.
  await new Promise<void>((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxBytes) {
        request.removeAllListeners('data').pause();
        reject(refusal);
      } else {
        chunks.push(chunk);
      }
    });
    request.once('end', resolve);
    const cutOff = (): void => reject(new HttpError(400, 'bad_request', 'The body ended early.'));
    request.once('error', cutOff);
    request.once('close', cutOff);
  });
  return Buffer.concat(chunks);
}
