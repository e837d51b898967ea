/** Seal of contents: AES-256-GCM with a random nonce. The context is authenticated: a content opens only with its own. */
import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
/** Lengths in bytes. */
const [KEY, NONCE, TAG] = [32, 12, 16];

export function sealBytes(content: Uint8Array, key: Uint8Array, context: string): Uint8Array {
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(context));
  const sealed = [cipher.update(content), cipher.final()];
  return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]);
}

/** @throws {Error} if the content was sealed with another key or context, or changed since */
export function openBytes(sealed: Uint8Array, key: Uint8Array, context: string): Buffer {
  const all = Buffer.from(sealed);
  const decipher = createDecipheriv(CIPHER, key, all.subarray(0, NONCE), { authTagLength: TAG });
  decipher.setAAD(Buffer.from(context)).setAuthTag(all.subarray(NONCE, NONCE + TAG));
  return Buffer.concat([decipher.update(all.subarray(NONCE + TAG)), decipher.final()]);
}

export interface SealKey {
  /** Start of a hash of the key. It reveals nothing of a random key. */
  readonly id: string;
  readonly bytes: Uint8Array;
}

/**
 * Returns the keys of a file, one a line: 32 bytes as hexadecimal or base64. The first one seals, all open.
 *
 * @throws {Error} with the number of the line, never its content
 */
export function sealKeysOf(text: string): readonly SealKey[] {
  return text
    .trim()
    .split('\n')
    .flatMap((line, index) => {
      const written = line.trim();
      if (written === '') return [];
      const bytes = /^[0-9a-f]{64}$/i.test(written)
        ? Buffer.from(written, 'hex')
        : Buffer.from(/^[A-Za-z0-9+/]{43}=$/.test(written) ? written : '', 'base64');
      if (bytes.length !== KEY) throw new Error(`line ${index + 1} is no key: 32 bytes, as hexadecimal or base64`);
      const named = Buffer.concat([Buffer.from('opsd body key\0'), bytes]);
      return [{ id: hash('sha256', named, 'hex').slice(0, 8), bytes }];
    });
}
