/**
 * Content of a canary message: a code in a header, and a body that follows from the nonce. The code authenticates the
 * arrival, and the body shows whether the message was altered.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret } from '#foundation/platform/secret.ts';

/** Header with the code. The service forwards it, and keeps it out of its log. */
export const CODE_HEADER = 'Opsd-Canary';

/** Use of a code. A code of one use is not valid for another one. */
const PURPOSES = { m: 'message', c: 'callback', p: 'probe' } as const;
export type Purpose = (typeof PURPOSES)[keyof typeof PURPOSES];

export interface CanaryPlace {
  readonly account: string;
  readonly canary: string;
}

const CODE = /^([mcp])\.([\w-]{22})\.([\w-]{43})$/;

export function codeOf(key: Secret, purpose: Purpose, nonce: string, place: CanaryPlace): string {
  const use = purpose.charAt(0);
  return `${use}.${nonce}.${macOf(key, use, nonce, place)}`;
}

/** Returns the use and the nonce of a code; undefined if it is not one of this store for this canary. */
export function readCode(
  key: Secret,
  text: string | undefined,
  place: CanaryPlace,
): { readonly purpose: Purpose; readonly nonce: string } | undefined {
  const [, use = '', nonce = '', mac = ''] = CODE.exec(text ?? '') ?? [];
  const given = Buffer.from(mac);
  const expected = Buffer.from(macOf(key, use, nonce, place));
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  return { purpose: PURPOSES[use as keyof typeof PURPOSES], nonce };
}

function macOf(key: Secret, use: string, nonce: string, { account, canary }: CanaryPlace): string {
  const parts = JSON.stringify(['opsd-canary', use, nonce, account, canary]);
  return createHmac('sha256', key.reveal()).update(parts).digest('base64url');
}

/** Returns the body of a message: text that no compression shortens, the same for the same nonce and size. */
export function bodyOf(nonce: string, bytes: number): Buffer {
  const blocks: string[] = [];
  for (let length = 0, block = 0; length < bytes; length += 64, block += 1) {
    blocks.push(createHash('sha384').update(`${nonce}/${block}`).digest('base64url'));
  }
  return Buffer.from(blocks.join('').slice(0, bytes), 'latin1');
}
