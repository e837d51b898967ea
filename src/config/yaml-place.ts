/**
 * YAML file as values with their positions. Environment variables are replaced here, after parsing. Aliases and merge
 * keys are followed, within limits.
 */
import {
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { expand, type Expansion, writtenOffset } from './environment.ts';
import { scalarOffset } from './scalar-offset.ts';
import { isSecretInsteadOfPath, isSecretKey } from './secret-keys.ts';
import type { Fault, SourceText } from './source-text.ts';

type Path = readonly (string | number)[];

/** Value of the file as plain data, with its position. */
export interface Place {
  readonly value: unknown;
  readonly path: Path;
  readonly start: number;
  readonly end: number;
  /** Key of the value. */
  readonly key?: { readonly start: number; readonly end: number };
  readonly entries?: ReadonlyMap<string, Place>;
  readonly items?: readonly Place[];
  readonly scalar?: Scalar;
  /** Present if variables were replaced. */
  readonly expansion?: Expansion;
  /** Set if a fault was already reported, since other faults follow from it. */
  readonly spoilt?: true;
}

export interface WalkOptions {
  readonly source: SourceText;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** True leaves `${…}` unchanged. */
  readonly isPlain?: true;
}

/**
 * Maximum number of aliased values. A file may use a value many times, but must not expand a few lines into millions.
 */
const MOST_ALIASED_VALUES = 100_000;

/** Maximum depth of lists and mappings. Every walk of the values calls itself for each level. */
const MOST_LEVELS = 200;

export class PlaceReader {
  readonly faults: Fault[] = [];
  /** Set if the aliases of the file exceed that number. */
  exploded: Fault | undefined;
  readonly #source: SourceText;
  readonly #env: WalkOptions['env'] | undefined;
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  #aliasDepth = 0;
  /** Number of secret keys above. */
  #secretDepth = 0;
  #aliased = 0;

  constructor(options: WalkOptions) {
    this.#source = options.source;
    this.#env = options.isPlain === true ? undefined : options.env;
  }

  read(node: Node | null, path: Path, key?: Node): Place {
    if (node !== null) return { ...this.#node(node, path), key: key && span(key) };
    // `key:` without a value.
    const at = key === undefined ? 0 : span(key).end;
    return { value: null, path, start: at, end: at, key: key && span(key) };
  }

  /** @throws {RangeError} if lists or mappings are nested too deeply, here and in later walks */
  #node(node: Node, path: Path): Place {
    if (path.length > MOST_LEVELS) throw new RangeError(`more than ${MOST_LEVELS} levels`);
    if (isAlias(node)) return this.#follow(node, path);
    if (this.#aliasDepth > 0 && ++this.#aliased > MOST_ALIASED_VALUES) return spoilt(node, path);
    if (node.anchor !== undefined && this.#aliasDepth === 0) this.#anchors.set(node.anchor, node);
    this.#open.add(node);
    try {
      if (isMap(node)) return this.#map(node, path);
      if (isSeq(node)) return this.#list(node, path);
      return isScalar(node) ? this.#scalar(node, path) : spoilt(node, path);
    } finally {
      this.#open.delete(node);
    }
  }

  #follow(alias: Node & { readonly source: string }, path: Path): Place {
    const target = this.#anchors.get(alias.source);
    if (target === undefined) {
      return this.#refuse(alias, path, {
        message: `the alias *${alias.source} has no anchor &${alias.source} before it`,
        help: `mark a value above with &${alias.source}; if the text begins with *, put it in quotes`,
      });
    }
    if (this.#open.has(target)) {
      return this.#refuse(alias, path, { message: `the alias *${alias.source} is inside its own anchor` });
    }
    this.#aliasDepth++;
    const place = this.#node(target, path);
    this.#aliasDepth--;
    if (this.#aliasDepth === 0 && this.#aliased > MOST_ALIASED_VALUES) {
      this.exploded ??= {
        ...span(alias),
        path: '',
        message: `the aliases of this file expand to more than ${MOST_ALIASED_VALUES} values`,
        help: 'write the values out, or use fewer nested aliases',
      };
    }
    return place;
  }

  #map(map: YAMLMap, path: Path): Place {
    const entries = new Map<string, Place>();
    const value = Object.create(null) as Record<string, unknown>;
    const firstAt = new Map<string, number>();
    const merged: { readonly pair: Pair; readonly key: Scalar }[] = [];
    for (const pair of map.items) {
      const key = pair.key;
      if (!isScalar(key)) continue;
      const name = String(key.value);
      if (name === '<<' && key.type === Scalar.PLAIN) {
        merged.push({ pair, key });
        continue;
      }
      const first = firstAt.get(name);
      if (first !== undefined) {
        // The second value is not read, so it is masked in case it is a secret.
        const second = valueOf(pair);
        if (second !== null) this.#source.mask(span(second).start, span(second).end);
        this.faults.push({
          ...span(key),
          path: pathText([...path, name]),
          message: `duplicate key, first at line ${this.#source.position(first).line}`,
          help: 'remove one of them',
        });
        continue;
      }
      firstAt.set(name, span(key).start);
      const isSecret = this.#source.hasExcerpts && isSecretKey(name);
      if (isSecret) this.#secretDepth++;
      entries.set(name, this.read(valueOf(pair), [...path, name], key));
      if (isSecret) this.#secretDepth--;
    }
    for (const { pair, key } of merged) this.#merge(entries, { node: valueOf(pair), key, path });
    for (const [name, place] of entries) value[name] = place.value;
    return { value, path, entries, ...span(map) };
  }

  /** Merges `<<: *base`, or a list of such. The map's own keys win, then those of the first base. */
  #merge(entries: Map<string, Place>, from: { node: Node | null; key: Node; path: Path }): void {
    const place = this.read(from.node, from.path, from.key);
    if (place.spoilt) return;
    for (const base of place.items ?? [place]) {
      if (base.entries === undefined) {
        this.#refuse(from.key, from.path, {
          message: '<< must be a mapping',
          help: 'write <<: *NAME, the name of a mapping',
        });
        continue;
      }
      for (const [name, inherited] of base.entries) {
        if (!entries.has(name)) entries.set(name, inherited);
      }
    }
  }

  #list(list: YAMLSeq, path: Path): Place {
    // `[a: 1]` makes an item a pair.
    const items = list.items.map((node, index) => {
      if (!isPair(node)) return this.read(node as Node | null, [...path, index]);
      const key = node.key as Node;
      return this.#refuse(key, [...path, index], {
        message: 'expected a plain item, got a key',
        help: 'put it in braces; if the colon is part of the text, put it in quotes',
      });
    });
    return { value: items.map((item) => item.value), path, items, ...span(list) };
  }

  #scalar(scalar: Scalar, path: Path): Place {
    const at = span(scalar);
    const isSecret = this.#source.hasExcerpts && this.#isSecret(scalar, path);
    if (isSecret) this.#source.mask(at.start, at.end);
    const env = this.#env;
    const expansion = env !== undefined && typeof scalar.value === 'string' ? expand(scalar.value, env) : undefined;
    if (expansion === undefined) return { value: scalar.value, path, scalar, ...at };
    for (const { offset, message, help, secretHelp = help } of expansion.faults) {
      const start = scalarOffset(this.#source.text, scalar, offset);
      const close = this.#source.text.indexOf('}', start) + 1;
      const end = close > start && close <= at.end ? close : start + 1;
      this.faults.push({ start, end, path: pathText(path), message, help: isSecret ? secretHelp : help });
    }
    const isSpoilt = expansion.faults.length > 0 || undefined;
    return { value: expansion.text, path, scalar, expansion, ...at, spoilt: isSpoilt && true };
  }

  #isSecret({ value }: Scalar, path: Path): boolean {
    if (this.#secretDepth > 0) return true;
    return typeof value === 'string' && isSecretInsteadOfPath(String(path.at(-1)), value);
  }

  #refuse(node: Node, path: Path, words: Words): Place {
    this.faults.push({ ...span(node), path: pathText(path), ...words });
    return spoilt(node, path);
  }
}

function spoilt(node: Node, path: Path): Place {
  return { value: undefined, path, ...span(node), spoilt: true };
}

/** Offset in the file of the character at `index` of a text value. */
export function offsetInValue(source: SourceText, place: Place, index: number): number {
  if (place.scalar === undefined) return place.start;
  const written = place.expansion === undefined ? index : writtenOffset(place.expansion, index);
  return scalarOffset(source.text, place.scalar, written);
}

/** Place at a path; undefined if it does not exist. */
export function placeAt(root: Place | undefined, path: readonly PropertyKey[]): Place | undefined {
  let place = root;
  for (const part of path) {
    place = typeof part === 'number' ? place?.items?.[part] : place?.entries?.get(String(part));
  }
  return place;
}

/** Items of a list at a path; none if it does not exist. */
export function itemsAt(root: Place | undefined, ...path: readonly PropertyKey[]): readonly Place[] {
  return placeAt(root, path)?.items ?? [];
}

/** Text at a path, with its place; undefined if it is empty, no text, or has a fault. */
export function textAt(root: Place | undefined, ...path: readonly PropertyKey[]): TextPlace | undefined {
  const place = placeAt(root, path);
  return typeof place?.value === 'string' && place.value !== '' && !place.spoilt ? (place as TextPlace) : undefined;
}

export type TextPlace = Place & { readonly value: string };

/** Message of a fault, and its fix. */
export type Words = Pick<Fault, 'message' | 'help' | 'severity'>;

/** Fault about a value. That about a whole mapping or list is marked at its key. */
export function faultAt(place: Place, words: Words): Fault {
  return place.entries !== undefined || place.items !== undefined
    ? faultAtKey(place, words)
    : marked(place, place, words);
}

/** Fault that is marked at the key of a value, if it has one. */
export function faultAtKey(place: Place, words: Words): Fault {
  return marked(place, place.key ?? place, words);
}

function marked({ path }: Place, { start, end }: Pick<Fault, 'start' | 'end'>, words: Words): Fault {
  return { start, end, path: pathText(path), ...words };
}

/** `accounts[0].token` */
export function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[\w-]+$/.test(String(part))) text += text === '' ? String(part) : `.${String(part)}`;
    else text += `[${JSON.stringify(String(part))}]`;
  }
  return text;
}

function span(node: Node): { readonly start: number; readonly end: number } {
  const range = node.range;
  return range === undefined || range === null ? { start: 0, end: 0 } : { start: range[0], end: range[1] };
}

function valueOf(pair: Pair): Node | null {
  return pair.value as Node | null;
}
