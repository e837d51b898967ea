/**
 * Values that only one process can read: X25519, HKDF-SHA256 and AES-256-GCM. Arguments of commands contain tokens and
 * bodies of messages, which must not be in the database, its log, or its backups. Private keys never leave the process.
 */
import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  randomBytes,
  type KeyObject,
} from 'node:crypto';

/** Lengths in bytes: public key in DER, nonce, authentication tag. */
const [KEY, NONCE, TAG] = [44, 12, 16];
const CIPHER = 'aes-256-gcm';

export interface KeyPair {
  /** DER. */
  readonly publicKey: Uint8Array;
  readonly privateKey: KeyObject;
}

export function createKeyPair(): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('x25519');
  return { publicKey: publicKey.export({ type: 'spki', format: 'der' }), privateKey };
}

/** @param context id of the command and the use of the value: it can be opened only with the same one */
export function seal(text: string, recipient: Uint8Array, context: string): Uint8Array {
  const own = createKeyPair();
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv(CIPHER, secretOf(own.privateKey, recipient, context), nonce);
  const sealed = [cipher.update(text, 'utf8'), cipher.final()];
  return Buffer.concat([own.publicKey, nonce, cipher.getAuthTag(), ...sealed]);
}

/** @throws {Error} if the value was sealed for another key or context, or changed since */
export function open(sealed: Uint8Array, { privateKey }: KeyPair, context: string): string {
  const bytes = Buffer.from(sealed);
  const sender = bytes.subarray(0, KEY);
  const decipher = createDecipheriv(CIPHER, secretOf(privateKey, sender, context), bytes.subarray(KEY, KEY + NONCE));
  decipher.setAuthTag(bytes.subarray(KEY + NONCE, KEY + NONCE + TAG));
  return Buffer.concat([decipher.update(bytes.subarray(KEY + NONCE + TAG)), decipher.final()]).toString('utf8');
}

function secretOf(privateKey: KeyObject, other: Uint8Array, context: string): Uint8Array {
  const publicKey = createPublicKey({ key: Buffer.from(other), type: 'spki', format: 'der' });
  return new Uint8Array(
    hkdfSync('sha256', diffieHellman({ privateKey, publicKey }), '', `opsd command ${context}`, 32),
  );
}
