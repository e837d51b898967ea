/**
 * Gzips a body in parts on the thread pool. Neighboring parts are compressed together. The result is kept while they
 * are unchanged, so that a scrape pays only for changes. The deflate blocks end on a byte boundary and are concatenated
 * into a single gzip member, which every gzip reader accepts.
 */
import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';

/** Number of parallel compressions. Each needs 270 kB and a thread of the pool while it runs. */
const AT_ONCE = 2;

/** Size of a group. It balances the fixed cost of a compression against recompression after a change. */
const GROUP_BYTES = 262_144;

/** Gzip header without name and time, for an unknown system. */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255]);
/** Last deflate block, empty. */
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

/** Groups by their first part. */
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

/** Returns the parts in groups. Kept groups stay, and the parts between them are grouped again. */
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
  // The flush ends the last block on a byte boundary without marking it as the last.
  const options = { level: 1, chunkSize: 65_536, finishFlush: constants.Z_SYNC_FLUSH };
  const deflated = await deflateAsync(data, options);
  // A copy, because the result of zlib is part of a larger buffer that would be kept in memory.
  return { data: Buffer.from(deflated), crc: crc32(data), bytes: data.length };
}

/** Reversed polynomial of CRC-32. */
const POLYNOMIAL = 0xedb88320;

/**
 * Returns the CRC of two concatenated texts from their CRCs and the length of the second. Appending n zero bytes to the
 * first is a multiplication by x^(8n) modulo the polynomial (as zlib's crc32_combine).
 */
function combineCrc(first: number, second: number, secondBytes: number): number {
  return (multiply(powerOfX(secondBytes), first) ^ second) >>> 0;
}

/** Returns a·b modulo the polynomial; bit 31 is x^0. */
function multiply(a: number, b: number): number {
  let product = 0;
  let factor = b;
  for (let bit = 31; bit >= 0; bit--) {
    if ((a >>> bit) & 1) product ^= factor;
    factor = factor & 1 ? (factor >>> 1) ^ POLYNOMIAL : factor >>> 1;
  }
  return product >>> 0;
}

/** Powers x^(2^n), n from 0. */
const SQUARES = squares();

function squares(): readonly number[] {
  const powers = [0x40000000];
  while (powers.length < 32) powers.push(multiply(powers.at(-1)!, powers.at(-1)!));
  return powers;
}

/** Returns x^(8·bytes) modulo the polynomial. The exponents repeat after 32 squares. */
function powerOfX(bytes: number): number {
  let power = 0x80000000;
  let rest = bytes;
  for (let n = 3; rest > 0; n++) {
    if (rest % 2 === 1) power = multiply(SQUARES[n % 32]!, power);
    rest = Math.floor(rest / 2);
  }
  return power;
}
