/**
 * Values that only one process can read: X25519, HKDF-SHA256 and AES-256-GCM. Arguments of commands contain tokens and
 * bodies of messages, which must not be in the database, its log, or its backups. Private keys never leave the process.
 */
import { createPublicKey, diffieHellman, generateKeyPairSync, hkdfSync, type KeyObject } from 'node:crypto';
import { openBytes, sealBytes } from '#foundation/platform/seal.ts';

/** Length of a public key in DER. */
const KEY = 44;

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
  const key = secretOf(own.privateKey, recipient);
  return Buffer.concat([own.publicKey, sealBytes(Buffer.from(text), key, context)]);
}

/** @throws {Error} if the value was sealed for another key or context, or changed since */
export function open(sealed: Uint8Array, { privateKey }: KeyPair, context: string): string {
  const key = secretOf(privateKey, sealed.subarray(0, KEY));
  return openBytes(sealed.subarray(KEY), key, context).toString('utf8');
}

function secretOf(privateKey: KeyObject, other: Uint8Array): Uint8Array {
  const publicKey = createPublicKey({ key: Buffer.from(other), type: 'spki', format: 'der' });
  return new Uint8Array(hkdfSync('sha256', diffieHellman({ privateKey, publicKey }), '', 'opsd command', 32));
}
