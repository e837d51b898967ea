/**
 * Texts by their bytes. A log repeats its few names and the ids of its messages: a text that was seen is found without
 * decoding it, and compares and hashes fast, because it is the same object.
 */

const SLOTS = 2_048;
/** Maximum length of a text that is remembered, in words of four bytes. */
const WORDS = 64;

export class KnownTexts {
  /** The last text of each hash, and its bytes. */
  readonly #texts: string[] = Array.from({ length: SLOTS }, () => '');
  readonly #words = new Int32Array(SLOTS * WORDS);

  /**
   * Returns the text of ASCII bytes.
   *
   * @param place its borders, a hash of its words, and the last word, which may be shorter
   */
  of(view: DataView<ArrayBuffer>, { start, end, hash, last }: HashedText): string {
    const slot = (hash ^ (hash >>> 16)) & (SLOTS - 1);
    const text = this.#texts[slot]!;
    const first = slot * WORDS;
    const whole = (end - start) >> 2;
    if (text.length === end - start && text.length < 4 * WORDS && this.#words[first + whole] === last) {
      let word = 0;
      while (word < whole && view.getInt32(start + 4 * word, true) === this.#words[first + word]) word += 1;
      if (word === whole) return text;
    }
    const fresh = Buffer.from(view.buffer, view.byteOffset + start, end - start).toString('latin1');
    if (fresh.length >= 4 * WORDS) return fresh;
    this.#texts[slot] = fresh;
    for (let word = 0; word < whole; word += 1) this.#words[first + word] = view.getInt32(start + 4 * word, true);
    this.#words[first + whole] = last;
    return fresh;
  }
}

export interface HashedText {
  readonly start: number;
  readonly end: number;
  readonly hash: number;
  readonly last: number;
}
