/**
 * The series of one metric, in chunks whose text is kept until a write makes it wrong. Whoever renders may claim a
 * chunk: then it is rendered as it stands before the next write touches it, so that what is rendered piece by piece
 * tells of one moment.
 */
import type { SpanRef } from '#foundation/domain/span-ref.ts';
import type { MetricSpec } from '../catalog/metric-spec.ts';

/** Series with a text of their own: few enough to be rendered in a fraction of a millisecond. */
const CHUNK_SERIES = 512;

/** `current` is the text format without held zeros: each counter has its real value. Scrapers never get it. */
export type Format = 'text' | 'openmetrics' | 'current';

export interface ShownExemplar extends SpanRef {
  readonly value: number;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** One label set. */
export interface Child {
  /** As exposed, without the braces; empty without labels. */
  readonly labels: string;
  chunk: Chunk;
  /** The sum of a histogram. */
  value: number;
  /** Epoch seconds, as text; undefined when it is not known since when it counts. */
  created: string | undefined;
  /** New, and exposed to scrapers as 0 for now. */
  held: boolean;
  /** Observations by bucket, not cumulated, the last for what exceeds all bounds. */
  readonly buckets: number[] | undefined;
  exemplars: (ShownExemplar | undefined)[] | undefined;
}

export interface Chunk {
  readonly children: Set<Child>;
  /** What is kept of it, by format. */
  rendered: { [F in Format]?: Buffer };
  /** Renders it before it is written to. */
  claim: (() => void) | undefined;
}

export class SeriesTable {
  readonly name: string;
  readonly spec: MetricSpec;
  readonly labelNames: readonly string[];
  readonly seriesOfChild: number;
  readonly #children = new Map<string, Child>();
  readonly #chunks = new Set<Chunk>();
  #roomy: Chunk | undefined;
  readonly headers: { [F in Format]?: Buffer } = {};

  constructor(name: string, spec: MetricSpec, labelNames: readonly string[]) {
    this.name = name;
    this.spec = spec;
    this.labelNames = labelNames;
    this.seriesOfChild = spec.type === 'histogram' ? (spec.buckets ?? []).length + 3 : 1;
  }

  /** In a stable order. */
  get chunks(): ReadonlySet<Chunk> {
    return this.#chunks;
  }

  get size(): number {
    return this.#children.size;
  }

  /** Series in the text format: a histogram has one for each bucket, sum and count. */
  get series(): number {
    return this.#children.size * this.seriesOfChild;
  }

  children(): IterableIterator<Child> {
    return this.#children.values();
  }

  find(labels: string): Child | undefined {
    return this.#children.get(labels);
  }

  /** A new child at 0; there must be none with these labels. */
  create(labels: string, options: { readonly created?: string; readonly held?: boolean } = {}): Child {
    const chunk = this.#chunkWithRoom();
    const { type, buckets = [] } = this.spec;
    const child: Child = {
      labels,
      chunk,
      value: 0,
      created: options.created,
      held: options.held ?? false,
      buckets: type === 'histogram' ? Array.from({ length: buckets.length + 1 }, () => 0) : undefined,
      exemplars: undefined,
    };
    touch(chunk);
    chunk.children.add(child);
    this.#children.set(labels, child);
    return child;
  }

  remove(child: Child): void {
    const { chunk } = child;
    touch(chunk);
    chunk.children.delete(child);
    this.#children.delete(child.labels);
    if (chunk.children.size > 0) {
      this.#roomy = chunk;
      return;
    }
    this.#chunks.delete(chunk);
    if (this.#roomy === chunk) this.#roomy = undefined;
  }

  #chunkWithRoom(): Chunk {
    if (this.#roomy === undefined || this.#roomy.children.size * this.seriesOfChild >= CHUNK_SERIES) {
      this.#roomy = { children: new Set(), rendered: {}, claim: undefined };
      this.#chunks.add(this.#roomy);
    }
    return this.#roomy;
  }
}

/** Comes before every write to a child. */
function touch(chunk: Chunk): void {
  chunk.claim?.();
  const { text, openmetrics, current } = chunk.rendered;
  if ((text ?? openmetrics ?? current) !== undefined) chunk.rendered = {};
}

/** Writes the value of a gauge; nothing becomes dirty when it is the same. */
export function setValue(child: Child, value: number): void {
  if (Object.is(child.value, value)) return;
  touch(child.chunk);
  child.value = value;
}

export function increase(child: Child, by: number): void {
  if (by === 0) return;
  touch(child.chunk);
  child.value += by;
}

/** Adds observations by bucket. */
export function observe(
  child: Child,
  added: {
    readonly buckets: readonly number[];
    readonly sum: number;
    readonly exemplars?: readonly (ShownExemplar | undefined)[];
  },
): void {
  touch(child.chunk);
  child.value += added.sum;
  const buckets = child.buckets!;
  added.buckets.forEach((count, index) => (buckets[index]! += count));
  added.exemplars?.forEach((exemplar, index) => {
    if (exemplar !== undefined) (child.exemplars ??= [])[index] = exemplar;
  });
}

/** Exposes the real value of a held child to everyone. */
export function release(child: Child): void {
  touch(child.chunk);
  child.held = false;
}
