/**
 * Texts as small numbers, so that a column of a million values is scanned in a millisecond or two. A number belongs to
 * its text while someone holds it, and is then reused for another text. The number of codes is therefore bounded by the
 * content of the log. Code 0 means no text.
 */
export class ValueCodes {
  readonly #codes = new Map<string, number>();
  readonly #texts: (string | undefined)[] = [undefined];
  readonly #holders: number[] = [0];
  readonly #free: number[] = [];

  /** Largest code ever used, plus one. */
  get bound(): number {
    return this.#texts.length;
  }

  /** Holds the text's code once more. */
  hold(text: string | undefined): number {
    if (text === undefined) return 0;
    let code = this.#codes.get(text);
    if (code === undefined) {
      code = this.#free.pop() ?? this.#texts.length;
      this.#codes.set(text, code);
      this.#texts[code] = text;
      this.#holders[code] = 0;
    }
    this.#holders[code]!++;
    return code;
  }

  /** Holds a code that is already held once more. */
  holdAgain(code: number): number {
    if (code !== 0) this.#holders[code]!++;
    return code;
  }

  /** Releases the code once. Returns the text when its last holder released it. */
  release(code: number): string | undefined {
    if (code === 0 || --this.#holders[code]! > 0) return undefined;
    const text = this.#texts[code]!;
    this.#codes.delete(text);
    this.#texts[code] = undefined;
    this.#free.push(code);
    return text;
  }

  /** Returns undefined when the text is not held. */
  find(text: string): number | undefined {
    return this.#codes.get(text);
  }

  /** Returns the codes of the held ones among these texts; undefined when there is none. */
  findAny(texts: Iterable<string>): CodeSet | undefined {
    return codeSet([...texts].map((text) => this.find(text)).filter((code) => code !== undefined));
  }
}

/** A code, or a bit for each code. */
export type CodeSet = number | Uint32Array;

/** Builds a set of small numbers; undefined for an empty one. */
export function codeSet(codes: readonly number[]): CodeSet | undefined {
  if (codes.length < 2) return codes[0];
  const bits = new Uint32Array((Math.max(...codes) >>> 5) + 1);
  for (const code of codes) addTo(bits, code);
  return bits;
}

function addTo(bits: Uint32Array, code: number): void {
  bits[code >>> 5]! |= 1 << (code & 31);
}

/** Codes for sets of labels, which are found by any of their labels. */
export class LabelCodes {
  readonly #sets = new ValueCodes();
  /** Codes of the sets that contain a label. A single code needs no Set, as most labels occur in one set. */
  readonly #byLabel = new Map<string, number | Set<number>>();

  hold(labels: readonly string[]): number {
    if (labels.length === 0) return 0;
    const text = JSON.stringify(labels);
    const isNew = this.#sets.find(text) === undefined;
    const code = this.#sets.hold(text);
    if (isNew) for (const label of labels) this.#add(label, code);
    return code;
  }

  holdAgain(code: number): number {
    return this.#sets.holdAgain(code);
  }

  release(code: number): void {
    const text = this.#sets.release(code);
    if (text === undefined) return;
    for (const label of JSON.parse(text) as readonly string[]) this.#remove(label, code);
  }

  /** Returns the sets with any of the labels; undefined when there is none. */
  findAny(labels: Iterable<string>): CodeSet | undefined {
    const found = new Set<number | Set<number>>();
    for (const label of labels) {
      const codes = this.#byLabel.get(label);
      if (codes !== undefined) found.add(codes);
    }
    const [first] = found;
    if (found.size < 2 && !(first instanceof Set)) return first;
    const bits = new Uint32Array((this.#sets.bound >>> 5) + 1);
    for (const codes of found) {
      if (typeof codes === 'number') addTo(bits, codes);
      else for (const code of codes) addTo(bits, code);
    }
    return bits;
  }

  #add(label: string, code: number): void {
    const known = this.#byLabel.get(label);
    if (known === undefined || known === code) this.#byLabel.set(label, code);
    else if (typeof known === 'number') this.#byLabel.set(label, new Set([known, code]));
    else known.add(code);
  }

  #remove(label: string, code: number): void {
    const known = this.#byLabel.get(label);
    if (typeof known === 'number') {
      if (known === code) this.#byLabel.delete(label);
      return;
    }
    known?.delete(code);
    if (known?.size === 0) this.#byLabel.delete(label);
  }
}
