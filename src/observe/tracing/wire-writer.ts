/** Writes Protocol Buffers' wire format in one forward pass. A length is filled in when it is known. */

const GROW = 65_536;
/** Maximum length of a text that is copied by character, which is faster than a call. Its length takes one byte. */
const SHORT_TEXT = 0x7f;
const TWO_32 = 4_294_967_296;
/** Values of hex digits by character code. */
const DIGITS = Uint8Array.from({ length: 0x80 }, (_, code) => Number.parseInt(String.fromCharCode(code), 16) || 0);

export class WireWriter {
  #bytes = Buffer.allocUnsafe(GROW);
  #at = 0;

  get length(): number {
    return this.#at;
  }

  /** Returns a copy of the content. The writer can be used again. */
  take(): Uint8Array {
    const taken = new Uint8Array(this.#bytes.subarray(0, this.#at));
    this.#at = 0;
    return taken;
  }

  raw(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** Copies earlier content to the end. */
  again(start: number, length: number): void {
    this.#room(length);
    this.#bytes.copyWithin(this.#at, start, start + length);
    this.#at += length;
  }

  double(value: number): void {
    this.#room(8);
    this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  /** Reserves four bytes. @returns their position */
  reserveUint32(): number {
    this.#room(4);
    this.#at += 4;
    return this.#at - 4;
  }

  setUint32(at: number, value: number): void {
    this.#bytes.writeUInt32LE(value, at);
  }

  varint(value: number): void {
    this.#room(10);
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.#at++] = (rest % 128) | 0x80;
      rest = Math.floor(rest / 128);
    }
    this.#bytes[this.#at++] = rest;
  }

  tag(field: number, wireType: 0 | 1 | 2 | 5): void {
    this.varint(field * 8 + wireType);
  }

  fixed32(field: number, value: number): void {
    this.tag(field, 5);
    this.#room(4);
    this.#at = this.#bytes.writeUInt32LE(value, this.#at);
  }

  /** @param ms epoch milliseconds from 1970 on, written as nanoseconds */
  time(field: number, ms: number): void {
    this.tag(field, 1);
    this.#room(8);
    // The result is 1,000 times the microseconds, in two halves, because a single number would not be exact.
    const microseconds = Math.round(ms * 1_000);
    const upper = Math.floor(microseconds / TWO_32);
    const low = (microseconds - upper * TWO_32) * 1_000;
    const carry = Math.floor(low / TWO_32);
    this.#at = this.#bytes.writeUInt32LE(low - carry * TWO_32, this.#at);
    this.#at = this.#bytes.writeUInt32LE(upper * 1_000 + carry, this.#at);
  }

  /** @param digits an even number of lower-case hex digits */
  hex(field: number, digits: string): void {
    this.tag(field, 2);
    this.varint(digits.length / 2);
    this.#room(digits.length / 2);
    const bytes = this.#bytes;
    let to = this.#at;
    for (let at = 0; at < digits.length; at += 2) {
      bytes[to++] = DIGITS[digits.charCodeAt(at)]! * 16 + DIGITS[digits.charCodeAt(at + 1)]!;
    }
    this.#at = to;
  }

  text(field: number, text: string): void {
    this.tag(field, 2);
    this.#room(3 * text.length + 10);
    if (text.length <= SHORT_TEXT && this.#ascii(text)) return;
    const length = Buffer.byteLength(text);
    this.varint(length);
    this.#at += this.#bytes.write(text, this.#at, 'utf8');
  }

  /** Writes a nested message: the content from `write`, with its length first. */
  message(field: number, write: () => void): void {
    this.tag(field, 2);
    const start = this.open();
    write();
    this.close(start);
  }

  /**
   * Reserves space for a length.
   *
   * @param lengthBytes most likely number of bytes of the length
   * @returns the position to pass to `close`
   */
  open(lengthBytes = 1): number {
    this.#room(lengthBytes);
    this.#at += lengthBytes;
    return this.#at;
  }

  /**
   * Fills in the length. If it needs another number of bytes than reserved, the content is moved.
   *
   * @returns the distance of the move
   */
  close(start: number, lengthBytes = 1): number {
    const length = this.#at - start;
    let more = 1 - lengthBytes;
    for (let rest = length; rest > 0x7f; rest = Math.floor(rest / 128)) more += 1;
    if (more !== 0) {
      this.#room(more);
      this.#bytes.copyWithin(start + more, start, this.#at);
    }
    this.#at = start - lengthBytes;
    this.varint(length);
    this.#at = start + more + length;
    return more;
  }

  #ascii(text: string): boolean {
    const bytes = this.#bytes;
    const start = this.#at;
    bytes[start] = text.length;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code > 0x7f) return false;
      bytes[start + 1 + at] = code;
    }
    this.#at = start + 1 + text.length;
    return true;
  }

  #room(bytes: number): void {
    if (this.#at + bytes > this.#bytes.length) this.#grow(bytes);
  }

  #grow(bytes: number): void {
    const grown = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#at + bytes + GROW));
    grown.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = grown;
  }
}
