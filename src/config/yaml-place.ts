/**
 * A YAML file as values that know where they are written. Variables of the environment are replaced here, after
 * parsing; aliases and merge keys are followed, within bounds.
 */
import { isAlias, isMap, isPair, isScalar, isSeq, type Node, type Pair, Scalar, type YAMLMap } from 'yaml';
import { expand, type Expansion, writtenOffset } from './environment.ts';
import { scalarOffset } from './scalar-offset.ts';
import { isSecretInsteadOfPath, isSecretKey } from './secret-keys.ts';
import type { Fault, SourceText } from './source-text.ts';

/** A value of the file, as plain data, and where it stands. */
export interface Place {
  readonly value: unknown;
  readonly start: number;
  readonly end: number;
  /** The key that it belongs to. */
  readonly key?: { readonly start: number; readonly end: number };
  readonly entries?: ReadonlyMap<string, Place>;
  readonly items?: readonly Place[];
  readonly scalar?: Scalar;
  /** Present when variables were replaced in it. */
  readonly expansion?: Expansion;
  /** Already complained about: what else is wrong with it follows from that. */
  readonly spoilt?: true;
}

type Path = readonly (string | number)[];

export interface WalkOptions {
  readonly source: SourceText;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Nothing is replaced: a dollar is a dollar. */
  readonly isPlain?: true;
}

/** A file may name a value many times, but not blow up a few lines into millions of values. */
const MOST_ALIASED_VALUES = 100_000;

export class PlaceReader {
  readonly faults: Fault[] = [];
  /** Set when the aliases of the file make more values than anybody writes. */
  exploded: Fault | undefined;
  readonly #source: SourceText;
  readonly #env: WalkOptions['env'] | undefined;
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  #aliasDepth = 0;
  /** How many keys of secrets stand above. */
  #secretDepth = 0;
  #aliased = 0;

  constructor(options: WalkOptions) {
    this.#source = options.source;
    this.#env = options.isPlain === true ? undefined : options.env;
  }

  read(node: Node | null, path: Path, key?: Node): Place {
    const where = key === undefined ? {} : { key: span(key) };
    if (node === null) {
      // `key:` with nothing behind it.
      const at = key === undefined ? 0 : span(key).end;
      return { value: null, start: at, end: at, ...where };
    }
    if (isAlias(node)) return { ...this.#follow(node, path), ...where };
    if (this.#aliasDepth > 0 && ++this.#aliased > MOST_ALIASED_VALUES) return this.#spoilt(node, where);
    if (node.anchor !== undefined && this.#aliasDepth === 0) this.#anchors.set(node.anchor, node);
    this.#open.add(node);
    try {
      if (isMap(node)) return { ...this.#map(node, path), ...where };
      if (isSeq(node)) return { ...this.#list(node.items, span(node), path), ...where };
      if (isScalar(node)) return { ...this.#scalar(node, path), ...where };
    } finally {
      this.#open.delete(node);
    }
    return this.#spoilt(node, where);
  }

  #follow(alias: Node & { readonly source: string }, path: Path): Place {
    const target = this.#anchors.get(alias.source);
    if (target === undefined) {
      return this.#refuse(alias, path, {
        message: `no &${alias.source} comes before this *${alias.source}`,
        help: `mark a value above with &${alias.source}, or put the text in quotes if it really begins with *`,
      });
    }
    if (this.#open.has(target)) {
      return this.#refuse(alias, path, { message: `*${alias.source} stands inside of what it names` });
    }
    this.#aliasDepth++;
    const place = this.read(target, path);
    this.#aliasDepth--;
    if (this.#aliasDepth === 0 && this.#aliased > MOST_ALIASED_VALUES) {
      this.exploded ??= {
        ...span(alias),
        path: '',
        message: `the aliases of this file make more than ${MOST_ALIASED_VALUES} values`,
        help: 'write the values out, or use fewer aliases inside of aliases',
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
        // It is read no further, so that nobody asks whether it is a secret.
        const second = valueOf(pair);
        if (second !== null) this.#source.mask(span(second).start, span(second).end);
        this.faults.push({
          ...span(key),
          path: pathText([...path, name]),
          message: `this key stands twice, first at line ${this.#source.position(first).line}`,
          help: 'keep one of them',
        });
        continue;
      }
      firstAt.set(name, span(key).start);
      const isSecret = isSecretKey(name);
      if (isSecret) this.#secretDepth++;
      entries.set(name, this.read(valueOf(pair), [...path, name], key));
      if (isSecret) this.#secretDepth--;
    }
    for (const { pair, key } of merged) this.#merge(entries, { node: valueOf(pair), key, path });
    for (const [name, place] of entries) value[name] = place.value;
    return { value, entries, ...span(map) };
  }

  /** `<<: *base`, or a list of such; keys that the map has itself win, then those of the first. */
  #merge(entries: Map<string, Place>, from: { node: Node | null; key: Node; path: Path }): void {
    const place = this.read(from.node, from.path, from.key);
    if (place.spoilt) return;
    for (const base of place.items ?? [place]) {
      if (base.entries === undefined) {
        this.#refuse(from.key, from.path, { message: '<< takes a mapping', help: 'write <<: *name of a mapping' });
        continue;
      }
      for (const [name, inherited] of base.entries) {
        if (!entries.has(name)) entries.set(name, inherited);
      }
    }
  }

  #list(nodes: readonly unknown[], at: { start: number; end: number }, path: Path): Place {
    // `[a: 1]` makes a pair of an item.
    const items = nodes.map((node, index) => {
      if (!isPair(node)) return this.read(node as Node | null, [...path, index]);
      const key = node.key as Node;
      return this.#refuse(key, [...path, index], {
        message: 'a key where a plain item is expected',
        help: 'put it in braces, or in quotes if the colon belongs to the text',
      });
    });
    return { value: items.map((item) => item.value), items, ...at };
  }

  #scalar(scalar: Scalar, path: Path): Place {
    const at = span(scalar);
    const isPasted = typeof scalar.value === 'string' && isSecretInsteadOfPath(String(path.at(-1)), scalar.value);
    if (this.#secretDepth > 0 || isPasted) this.#source.mask(at.start, at.end);
    const env = this.#env;
    const expansion = env !== undefined && typeof scalar.value === 'string' ? expand(scalar.value, env) : undefined;
    if (expansion === undefined) return { value: scalar.value, scalar, ...at };
    for (const { offset, message, help } of expansion.faults) {
      const start = scalarOffset(this.#source.text, scalar, offset);
      const close = this.#source.text.indexOf('}', start) + 1;
      const end = close > start && close <= at.end ? close : start + 1;
      this.faults.push({ start, end, path: pathText(path), message, help });
    }
    const spoilt = expansion.faults.length > 0 ? { spoilt: true as const } : {};
    return { value: expansion.text, scalar, expansion, ...at, ...spoilt };
  }

  #refuse(node: Node, path: Path, what: { message: string; help?: string }): Place {
    this.faults.push({ ...span(node), path: pathText(path), ...what });
    return this.#spoilt(node, {});
  }

  #spoilt(node: Node, where: Pick<Place, 'key'>): Place {
    return { value: undefined, ...span(node), ...where, spoilt: true };
  }
}

/** Where in the file the character at `index` of a text value stands. */
export function offsetInValue(source: SourceText, place: Place, index: number): number {
  if (place.scalar === undefined) return place.start;
  const written = place.expansion === undefined ? index : writtenOffset(place.expansion, index);
  return scalarOffset(source.text, place.scalar, written);
}

/** The place at a path; undefined when nothing is there. */
export function placeAt(root: Place, path: readonly PropertyKey[]): Place | undefined {
  let place: Place | undefined = root;
  for (const part of path) {
    place = typeof part === 'number' ? place?.items?.[part] : place?.entries?.get(String(part));
  }
  return place;
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
