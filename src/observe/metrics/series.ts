/**
 * Series of one metric, in chunks. The text of a chunk is cached until a write invalidates it. A renderer may claim a
 * chunk: the chunk is then rendered before the next write. A rendering in slices therefore shows the values of one
 * moment.
 */
import type { SpanRef } from '#foundation/domain/span-ref.ts';
import type { MetricSpec } from '../catalog/metric-spec.ts';

/** Number of series in a chunk, small enough to render in a fraction of a millisecond. */
const CHUNK_SERIES = 512;

/** Output format. `current` is the text format with the real value of held counters. It is never sent to scrapers. */
export type Format = 'text' | 'openmetrics' | 'current';

export interface ShownExemplar extends SpanRef {
  readonly value: number;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Series of one label set. */
export interface Child {
  /** Labels as exported, without the braces; empty if there are none. */
  readonly labels: string;
  chunk: Chunk;
  /** Value; the sum of a histogram. */
  value: number;
  /** Epoch seconds as text; undefined if the start of counting is unknown. */
  created: string | undefined;
  /** True while a new counter is exported as 0. */
  held: boolean;
  /** Observations of each bucket, not cumulative. The last is for values above all bounds. */
  readonly buckets: number[] | undefined;
  exemplars: (ShownExemplar | undefined)[] | undefined;
}

export interface Chunk {
  readonly children: Set<Child>;
  /** Cached text, by format. */
  rendered: { [F in Format]?: Buffer };
  /** Renders the chunk before it is written to. */
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

  /** Returns the chunks in a stable order. */
  get chunks(): ReadonlySet<Chunk> {
    return this.#chunks;
  }

  get size(): number {
    return this.#children.size;
  }

  /** Returns the number of series in the text format. A histogram has one for each bucket, the sum and the count. */
  get series(): number {
    return this.#children.size * this.seriesOfChild;
  }

  children(): IterableIterator<Child> {
    return this.#children.values();
  }

  find(labels: string): Child | undefined {
    return this.#children.get(labels);
  }

  /** Creates a child with the value 0. No child with these labels may exist. */
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

/** Invalidates a chunk. Must be called before each write to a child. */
function touch(chunk: Chunk): void {
  chunk.claim?.();
  const { text, openmetrics, current } = chunk.rendered;
  if ((text ?? openmetrics ?? current) !== undefined) chunk.rendered = {};
}

/** Sets the value of a gauge. An unchanged value invalidates nothing. */
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

/** Exports the real value of a held child from now on. */
export function release(child: Child): void {
  touch(child.chunk);
  child.held = false;
}
