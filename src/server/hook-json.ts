/** JSON from strangers: bounded in bytes and depth, strict UTF-8, and never quoted in an answer. */
import type { IncomingMessage } from 'node:http';
import { readBytes } from './body.ts';
import { HttpError } from './reply.ts';

/** Deeper than anything that the hooks know of. */
const MAX_DEPTH = 32;

export interface HookBody {
  /** As they came, for signatures over them. */
  readonly bytes: Buffer;
  readonly value: unknown;
}

/** @throws {HttpError} 400, 413 or 415 */
export async function readHookJson(request: IncomingMessage, maxBytes: number): Promise<HookBody> {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new HttpError(415, 'bad_request', 'The body must be sent without Content-Encoding.');
  }
  const bytes = await readBytes(request, maxBytes);
  try {
    if (depthOf(bytes) > MAX_DEPTH) throw malformed(`The JSON must nest at most ${MAX_DEPTH} deep.`);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { bytes, value: JSON.parse(text) as unknown };
  } catch (error) {
    throw error instanceof HttpError ? error : malformed('The body must be JSON in UTF-8.');
  }
}

export function malformed(message: string): HttpError {
  return new HttpError(400, 'bad_request', message);
}

/** Brackets that are open at the same time, those inside of texts aside; looked at before anything is built. */
function depthOf(json: Buffer): number {
  let depth = 0;
  let deepest = 0;
  let isText = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (isText) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (byte === BRACKET || byte === BRACE) deepest = Math.max(deepest, ++depth);
    else if (byte === BRACKET + 2 || byte === BRACE + 2) depth--;
  }
  return deepest;
}

const [QUOTE, BACKSLASH, BRACKET, BRACE] = Buffer.from('"\\[{') as unknown as [number, number, number, number];
