/**
 * Seal of bodies of dead letters: AES-256-GCM with a random nonce. Account and dlqId are authenticated, so a content
 * opens only in its own row.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
/** Lengths in bytes. */
const [KEY, NONCE, TAG] = [32, 12, 16];

export interface BodyKey {
  /** Start of a hash of the key. It reveals nothing of a random key. */
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** Row of a content. */
interface Place {
  readonly account: string;
  readonly dlqId: string;
}

/**
 * Returns the keys of a file, one a line: 32 bytes as hexadecimal or base64. The first one seals, all open.
 *
 * @throws {Error} with the number of the line, never its content
 */
export function bodyKeysOf(text: string): readonly BodyKey[] {
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
      return [{ id: createHash('sha256').update('opsd body key\0').update(bytes).digest('hex').slice(0, 8), bytes }];
    });
}

export function sealBody(content: Uint8Array, { bytes }: BodyKey, place: Place): Uint8Array {
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv(CIPHER, bytes, nonce).setAAD(aad(place));
  const sealed = [cipher.update(content), cipher.final()];
  return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]);
}

/** @throws {Error} if the content was sealed with another key, in another row, or changed since */
export function openBody(sealed: Uint8Array, { bytes }: BodyKey, place: Place): Uint8Array {
  const all = Buffer.from(sealed);
  const decipher = createDecipheriv(CIPHER, bytes, all.subarray(0, NONCE), { authTagLength: TAG }).setAAD(aad(place));
  decipher.setAuthTag(all.subarray(NONCE, NONCE + TAG));
  return Buffer.concat([decipher.update(all.subarray(NONCE + TAG)), decipher.final()]);
}

function aad({ account, dlqId }: Place): Uint8Array {
  return Buffer.from(`${account}\0${dlqId}`);
}
