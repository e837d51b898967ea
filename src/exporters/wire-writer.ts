/** Writes Protocol Buffers' wire format, forwards and without a second pass: a length is filled in when it is known. */

const GROW = 65_536;
/** Up to here a text is copied character by character, which is faster than a call. */
const SHORT_TEXT = 48;

export class WireWriter {
  #bytes = Buffer.allocUnsafe(GROW);
  #at = 0;

  get length(): number {
    return this.#at;
  }

  /** A copy: the writer may go on. */
  take(): Uint8Array {
    const taken = Uint8Array.from(this.#bytes.subarray(0, this.#at));
    this.#at = 0;
    return taken;
  }

  raw(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  double(value: number): void {
    this.#room(8);
    this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  /** Keeps four bytes free. @returns where they are */
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

  /** @param ms epoch milliseconds, written as nanoseconds */
  time(field: number, ms: number): void {
    this.tag(field, 1);
    this.#room(8);
    this.#at = this.#bytes.writeBigUInt64LE(BigInt(Math.round(ms * 1_000)) * 1_000n, this.#at);
  }

  hex(field: number, digits: string): void {
    this.tag(field, 2);
    this.varint(digits.length / 2);
    this.#room(digits.length / 2);
    this.#at += this.#bytes.write(digits, this.#at, 'hex');
  }

  text(field: number, text: string): void {
    this.tag(field, 2);
    this.#room(3 * text.length + 10);
    if (text.length <= SHORT_TEXT && this.#ascii(text)) return;
    const length = Buffer.byteLength(text);
    this.varint(length);
    this.#at += this.#bytes.write(text, this.#at, 'utf8');
  }

  /** A message within the message: what `write` writes, with its length before it. */
  message(field: number, write: () => void): void {
    this.tag(field, 2);
    const start = this.open();
    write();
    this.close(start);
  }

  /** Keeps a byte for a length. @returns what `close` takes */
  open(): number {
    this.#room(1);
    this.#at += 1;
    return this.#at;
  }

  /** Fills the length in; what is long is moved on by the bytes that its length needs more. */
  close(start: number): void {
    const length = this.#at - start;
    let more = 0;
    for (let rest = length; rest > 0x7f; rest = Math.floor(rest / 128)) more += 1;
    if (more > 0) {
      this.#room(more);
      this.#bytes.copyWithin(start + more, start, this.#at);
    }
    this.#at = start - 1;
    this.varint(length);
    this.#at = start + more + length;
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
    if (this.#at + bytes <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#at + bytes + GROW));
    grown.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = grown;
  }
}
