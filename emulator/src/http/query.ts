/**
 * Query parameters of an operation. Each has a name and a kind; an invalid value is rejected with the reason. The
 * operation's table defines names and kinds. Reading a parameter that the table lacks, or leaving one unread, is a bug
 * of the emulator.
 */
import { MAX_COUNT, type QueryParameter, type QueryTable } from './query-parameters.ts';
import { ApiError } from '../state/api-error.ts';
import type { Switches } from '../state/switches.ts';

export class Query {
  readonly #params: URLSearchParams;
  readonly #table: QueryTable;
  readonly #switches: Switches;
  readonly #read = new Set<string>();

  constructor(params: URLSearchParams, table: QueryTable, switches: Switches) {
    this.#params = params;
    this.#table = table;
    this.#switches = switches;
  }

  /** Returns the value of a parameter that must not repeat. An empty value counts as absent. */
  one(name: string): string | undefined {
    return this.#one(name, 'text');
  }

  /** Returns one of the values that the table names. An empty value is an error where the table names a default. */
  choice(name: string): string | undefined {
    const { values = [], default: fallback } = this.#table[name] ?? {};
    const none = fallback !== undefined && this.#params.has(name) ? '' : fallback;
    const value = this.#one(name, 'choice') ?? none;
    if (value === undefined || values.includes(value)) return value;
    throw new ApiError(400, `${name} must be one of ${values.join(', ')}, not ${value.slice(0, 100)}`);
  }

  /** Returns alternatives: repeated parameters, or one comma-separated value. Undefined means no filter. */
  many(name: string): ReadonlySet<string> | undefined {
    const given = this.#many(name, 'texts');
    const { values = [] } = this.#table[name] ?? {};
    const other = values.length === 0 ? undefined : [...(given ?? [])].find((value) => !values.includes(value));
    if (other === undefined) return given;
    throw new ApiError(400, `${name} must be of ${values.join(', ')}, not ${other.slice(0, 100)}`);
  }

  /**
   * Returns URLs, given as in `many`. A comma can be part of a URL, so only a comma before another URL separates. Even
   * that comma may be part of a URL, so the whole value is included as well.
   */
  urls(name: string): ReadonlySet<string> | undefined {
    const values = this.#values(name, 'urls').flatMap((value) => [value, ...value.split(/(?<!,),+(?=https?:|$)/i)]);
    const given = values.filter((value) => !/^,*$/.test(value));
    return given.length === 0 ? undefined : new Set(given);
  }

  integer(name: string): number | undefined {
    return this.#integer(name, 'integer');
  }

  integers(name: string): ReadonlySet<number> | undefined {
    const given = this.#many(name, 'integers');
    if (given === undefined) return undefined;
    for (const text of given) {
      if (!/^\d{1,9}$/.test(text)) throw new ApiError(400, `${name} must be whole numbers, not ${text.slice(0, 100)}`);
    }
    return new Set([...given].map(Number));
  }

  /** Returns `count` where a page has at most 100 rows and 100 is the default. */
  pageSize(): number {
    const count = this.#count('page-size');
    if (count === undefined) return MAX_COUNT;
    if (count <= MAX_COUNT) return count;
    if (this.#switches.countAboveMaximum === 'clamped') return MAX_COUNT;
    throw new ApiError(400, `count must be at most ${MAX_COUNT}, not ${count}`);
  }

  /** Returns `count` where it is only an upper bound; undefined when absent. */
  atMost(): number | undefined {
    return this.#count('at-most');
  }

  /** Returns the position after which the listing continues. */
  cursor(listing: Listing): number | undefined {
    const text = this.#one('cursor', 'cursor');
    if (text === undefined) return undefined;
    const [, of, sequence] = /^(log|dlq|run)--?\d{1,16}-(\d{1,15})$/.exec(text) ?? [];
    if (of === listing) return Number(sequence);
    const why = of === undefined ? 'was not issued by this service' : 'belongs to another listing';
    throw new ApiError(400, `cursor ${why}: ${text.slice(0, 100)}`);
  }

  /** Returns the bounds `fromDate` and `toDate`, both inclusive. */
  window(): { readonly from: number; readonly to: number } {
    return { from: this.integer('fromDate') ?? -Infinity, to: this.integer('toDate') ?? Infinity };
  }

  /** @throws {Error} naming a parameter of the table that was not read */
  finish(): void {
    for (const name of Object.keys(this.#table)) {
      if (!this.#read.has(name)) throw new Error(`the query parameter ${name} is in the table and is not read`);
    }
  }

  #one(name: string, kind: QueryParameter['kind']): string | undefined {
    const values = this.#values(name, kind);
    if (values.length > 1) throw new ApiError(400, `${name} takes one value, not ${values.length}`);
    return values[0];
  }

  #many(name: string, kind: QueryParameter['kind']): ReadonlySet<string> | undefined {
    const values = this.#values(name, kind).flatMap((value) => value.split(','));
    const given = values.filter((value) => value !== '');
    return given.length === 0 ? undefined : new Set(given);
  }

  #integer(name: string, kind: QueryParameter['kind']): number | undefined {
    const text = this.#one(name, kind);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(value)) {
      throw new ApiError(400, `${name} must be a whole number, not ${JSON.stringify(text.slice(0, 100))}`);
    }
    return value;
  }

  #count(kind: QueryParameter['kind']): number | undefined {
    const count = this.#integer('count', kind);
    if (count !== undefined && count < 1) throw new ApiError(400, `count must be at least 1, not ${count}`);
    return count;
  }

  #values(name: string, kind: QueryParameter['kind']): readonly string[] {
    if (this.#table[name]?.kind !== kind) {
      throw new Error(`${name} is no ${kind} in the operation's table: see query-parameters.ts`);
    }
    this.#read.add(name);
    return this.#params.getAll(name).filter((value) => value !== '');
  }
}

/** Listings that a cursor can belong to: log entries, dead messages, failed runs. */
export type Listing = 'log' | 'dlq' | 'run';

/** Encodes a cursor. Callers must treat it as opaque. */
export function cursorAt(
  listing: Listing,
  { time, sequence }: { readonly time: number; readonly sequence: number },
): string {
  return `${listing}-${Math.floor(time)}-${sequence}`;
}

/** Returns the `cursor` field of a response. At the end of a listing it has the form that the installation uses. */
export function cursorField(cursor: string | undefined, switches: Switches): { readonly cursor?: string } {
  if (cursor !== undefined) return { cursor };
  return switches.endCursor === 'empty' ? { cursor: '' } : {};
}
