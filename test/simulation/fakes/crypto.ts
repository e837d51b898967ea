/** `node:crypto` whose random numbers come from the seed. */
import { randomOf } from '../random.ts';

export * from 'node:crypto';

export function randomBytes(size: number): Buffer {
  const random = randomOf('crypto');
  return Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256)));
}

export function randomUUID(): string {
  const hex = randomBytes(16).toString('hex');
  return [0, 8, 12, 16, 20].map((at, n) => hex.slice(at, [8, 12, 16, 20, 32][n])).join('-');
}
