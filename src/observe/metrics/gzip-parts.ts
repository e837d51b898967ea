/**
 * Gzip of a body in parts, on the thread pool. Neighbours are compressed together and kept for as long as they stay
 * what they were, so that a scrape pays for what changed. Their deflate blocks end on a byte and stand one behind the
 * other in a single gzip member, which every reader of gzip takes.
 */
import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';

/** Compressed at once: each takes 270 kB meanwhile, and a thread of the pool. */
const AT_ONCE = 2;

/** Compressed together: what it costs to begin is spread, and little is compressed again for a change. */
const GROUP_BYTES = 262_144;

/** No name, no time, unknown system. */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255]);
/** The last block, empty. */
const LAST_BLOCK = Buffer.from([3, 0]);

interface Deflated {
  readonly data: Buffer;
  readonly crc: number;
  readonly bytes: number;
}

const deflateAsync = promisify(deflateRaw);

interface Group {
  readonly parts: readonly Uint8Array[];
  readonly deflated: Promise<Deflated>;
}

/** By the first part. */
const kept = new WeakMap<Uint8Array, Group>();

export async function gzipParts(parts: readonly Uint8Array[]): Promise<Uint8Array[]> {
  const groups = grouped(parts);
  const deflated: Deflated[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < groups.length) {
      const index = next++;
      deflated[index] = await deflate(groups[index]!);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  let crc = 0;
  let bytes = 0;
  for (const part of deflated) {
    crc = combineCrc(crc, part.crc, part.bytes);
    bytes += part.bytes;
  }
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc, 0);
  trailer.writeUInt32LE(bytes % 2 ** 32, 4);
  return [HEADER, ...deflated.map(({ data }) => data), LAST_BLOCK, trailer];
}

/** Groups that are kept stay groups; what lies between them is cut anew. */
function grouped(parts: readonly Uint8Array[]): (readonly Uint8Array[])[] {
  const groups: (readonly Uint8Array[])[] = [];
  let open: Uint8Array[] = [];
  let bytes = 0;
  const close = (): void => {
    if (open.length > 0) groups.push(open);
    open = [];
    bytes = 0;
  };
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at]!;
    const known = kept.get(part)?.parts;
    if (known?.every((same, index) => same === parts[at + index])) {
      close();
      groups.push(known);
      at += known.length - 1;
      continue;
    }
    if (bytes + part.length > GROUP_BYTES) close();
    open.push(part);
    bytes += part.length;
  }
  close();
  return groups;
}

function deflate(parts: readonly Uint8Array[]): Promise<Deflated> {
  const first = parts[0]!;
  const known = kept.get(first);
  if (known?.parts === parts) return known.deflated;
  const deflated = deflateNow(parts.length === 1 ? first : Buffer.concat(parts));
  kept.set(first, { parts, deflated });
  deflated.catch(() => kept.delete(first));
  return deflated;
}

async function deflateNow(data: Uint8Array): Promise<Deflated> {
  // The flush ends the last block on a byte, and does not mark it as the last.
  const options = { level: 1, chunkSize: 65_536, finishFlush: constants.Z_SYNC_FLUSH };
  const deflated = await deflateAsync(data, options);
  // A copy: what zlib gives is a piece of a larger buffer, which would be kept with it.
  return { data: Buffer.from(deflated), crc: crc32(data), bytes: data.length };
}

/** The reversed polynomial of CRC-32. */
const POLYNOMIAL = 0xedb88320;

/**
 * The CRC of two texts one behind the other, from those of each and the length of the second: the first is moved by so
 * many zero bytes, which is a multiplication by x^(8n) modulo the polynomial (as zlib's crc32_combine).
 */
function combineCrc(first: number, second: number, secondBytes: number): number {
  return (multiply(powerOfX(secondBytes), first) ^ second) >>> 0;
}

/** a·b modulo the polynomial; bit 31 is x^0. */
function multiply(a: number, b: number): number {
  let product = 0;
  let factor = b;
  for (let bit = 31; bit >= 0; bit--) {
    if ((a >>> bit) & 1) product ^= factor;
    factor = factor & 1 ? (factor >>> 1) ^ POLYNOMIAL : factor >>> 1;
  }
  return product >>> 0;
}

/** x^(2^n), n from 0. */
const SQUARES = squares();

function squares(): readonly number[] {
  const powers = [0x40000000];
  while (powers.length < 32) powers.push(multiply(powers.at(-1)!, powers.at(-1)!));
  return powers;
}

/** x^(8·bytes) modulo the polynomial. The exponents repeat after 32 squares. */
function powerOfX(bytes: number): number {
  let power = 0x80000000;
  let rest = bytes;
  for (let n = 3; rest > 0; n++) {
    if (rest % 2 === 1) power = multiply(SQUARES[n % 32]!, power);
    rest = Math.floor(rest / 2);
  }
  return power;
}
