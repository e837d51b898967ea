/** Programs without their symbols, as Debian's `strip` leaves them. The base of the build has no `strip`. */

/** First bytes of ELF files of 64 bits, least byte first. */
const ELF = '\u007FELF\u0002\u0001';
/** Offsets of fields in them, and values of fields. */
const SECTIONS_AT = 40;
const SECTION_COUNT = 60;
const NAMES_INDEX = 62;
const SECTION_BYTES = 64;
const NO_BITS = 8;
const LOADED = 2n;

/**
 * Returns the program without the sections that are never loaded: symbols and debugging information. Symbols that it
 * exports stay, so stack traces of crashes keep their names. Programs of other formats stay as they are.
 */
export function withoutSymbols(program: Buffer): Buffer {
  if (program.toString('latin1', 0, ELF.length) !== ELF) return program;
  const at = Number(program.readBigUInt64LE(SECTIONS_AT));
  const sections = Array.from({ length: program.readUInt16LE(SECTION_COUNT) }, (_, index) =>
    Buffer.from(program.subarray(at + index * SECTION_BYTES, at + (index + 1) * SECTION_BYTES)),
  );
  const names = sections[program.readUInt16LE(NAMES_INDEX)]!;
  // Sections name each other by their index, so the kept ones stay at theirs.
  const kept = sections.slice(0, sections.findLastIndex(isLoaded) + 1);
  const end = align(Math.max(...kept.map(endOf)));

  const namesText = program.subarray(offsetOf(names), endOf(names));
  const namesEnd = align(end + namesText.length);
  names.writeBigUInt64LE(BigInt(end), 24);
  const head = Buffer.from(program.subarray(0, end));
  head.writeBigUInt64LE(BigInt(namesEnd), SECTIONS_AT);
  head.writeUInt16LE(kept.length + 1, SECTION_COUNT);
  head.writeUInt16LE(kept.length, NAMES_INDEX);
  return Buffer.concat([head, namesText, Buffer.alloc(namesEnd - end - namesText.length), ...kept, names]);
}

function isLoaded(section: Buffer): boolean {
  return (section.readBigUInt64LE(8) & LOADED) !== 0n;
}

function offsetOf(section: Buffer): number {
  return Number(section.readBigUInt64LE(24));
}

/** Returns 0 for sections without bytes in the file. */
function endOf(section: Buffer): number {
  return section.readUInt32LE(4) === NO_BITS ? 0 : offsetOf(section) + Number(section.readBigUInt64LE(32));
}

function align(offset: number): number {
  return Math.ceil(offset / 8) * 8;
}
