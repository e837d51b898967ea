/**
 * The `Svc-…` headers of one request. Headers that the operation's table lacks are ignored, because SDKs send some with
 * every request. Reading a header that the table lacks, or leaving one unread, is a bug of the emulator.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { parseServiceDuration } from './durations.ts';
import type { HeaderKind, HeaderTable } from './header-parameters.ts';
import { METHODS, type HeaderPair, type Method, type RetryDelayExpression } from '../state/message.ts';
import { compileRetryDelay, ExpressionError } from '../state/retry-delay.ts';
import { ApiError } from '../state/api-error.ts';
import { headerText } from '../state/header-text.ts';
import { canonicalHeaderName, ownHeaderNames } from '../delivery/wire-names.ts';

/** Headers that cannot be forwarded: those of the connection, and those that the service sets on a delivery. */
const NOT_FORWARDED = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'trailers',
  'transfer-encoding',
  'upgrade',
]);

/** Reader of the headers. Names have no prefix, as in the interface: `Retry-Delay`. */
export class ServiceHeaders {
  readonly #prefix: string;
  readonly #values = new Map<string, string>();
  /** Headers of the operation, by lower-case name. */
  readonly #table: CompiledTable;
  /** Names read so far. A name that ends in a dash covers all headers with that prefix. */
  readonly #read = new Set<string>();

  /** @param prefix prefix of the installation's headers, such as `Svc` */
  constructor(headers: IncomingHttpHeaders, prefix: string, table: HeaderTable) {
    this.#prefix = prefix;
    this.#table = compiled(table);
    const start = `${prefix.toLowerCase()}-`;
    for (const [name, value] of Object.entries(headers)) {
      if (value === undefined || !name.startsWith(start)) continue;
      this.#values.set(name.slice(start.length), Array.isArray(value) ? value.join(', ') : value);
    }
  }

  /** Returns the full name, such as `Svc-Retries`, for messages to the caller. */
  called(name: string): string {
    return `${this.#prefix}-${name}`;
  }

  /** Returns the trimmed value. An empty value counts as absent. */
  text(name: string): string | undefined {
    return this.#text(name, 'text');
  }

  flowControl(name: string): string | undefined {
    return this.#text(name, 'flow-control');
  }

  /** Returns true if the header is present, whatever its kind. */
  has(name: string): boolean {
    this.#reads(name);
    return (this.#values.get(name.toLowerCase())?.trim() ?? '') !== '';
  }

  integer(name: string): number | undefined {
    const text = this.#text(name, 'integer');
    if (text === undefined) return undefined;
    if (!/^\d{1,15}$/.test(text)) throw this.#wrong(name, text, 'a whole number, zero or more');
    return Number(text);
  }

  boolean(name: string): boolean {
    const text = this.#text(name, 'boolean');
    // Clients in Python send `True`.
    const value = text?.toLowerCase();
    if (value === undefined || value === 'false') return false;
    if (value === 'true') return true;
    throw this.#wrong(name, text!, 'true or false');
  }

  /** Returns milliseconds. */
  duration(name: string): number | undefined {
    const text = this.#text(name, 'duration');
    if (text === undefined) return undefined;
    const ms = parseServiceDuration(text);
    if (ms === undefined) throw this.#wrong(name, text, 'a duration such as 30s, 10m or 1d1h30m');
    return ms;
  }

  method(name: string): Method | undefined {
    const text = this.#text(name, 'method');
    if (text === undefined) return undefined;
    const method = METHODS.find((known) => known === text);
    if (method === undefined) throw this.#wrong(name, text, `one of ${METHODS.join(', ')}`);
    return method;
  }

  httpUrl(name: string): string | undefined {
    const text = this.#text(name, 'url');
    if (text === undefined) return undefined;
    if (!isHttpUrl(text)) throw this.#wrong(name, text, 'a URL that begins with http:// or https://');
    return text;
  }

  expression(name: string): RetryDelayExpression | undefined {
    const source = this.#text(name, 'expression');
    if (source === undefined) return undefined;
    try {
      return { source, evaluate: compileRetryDelay(source) };
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      throw new ApiError(400, `${this.called(name)} is invalid: the expression ${error.message}`);
    }
  }

  /** Returns the comma-separated parts that are not empty. */
  list(name: string): readonly string[] {
    return (this.#text(name, 'list') ?? '')
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
  }

  /** Returns headers named `<group>-<Name>`, as `<Name>`, with their values as received. */
  forwarded(group: string): readonly HeaderPair[] {
    const start = this.#reads(group, 'forward');
    const pairs: HeaderPair[] = [];
    for (const [key, value] of this.#values) {
      if (!key.startsWith(start)) continue;
      const name = key.slice(start.length);
      if (name === '') throw new ApiError(400, `${this.called(group)}-<Name> needs a name`);
      if (NOT_FORWARDED.has(name) || this.#isOwn(name)) {
        throw new ApiError(400, `the header ${canonicalHeaderName(name)} cannot be forwarded`);
      }
      pairs.push([canonicalHeaderName(name), value]);
    }
    return pairs;
  }

  #isOwn(name: string): boolean {
    return name.startsWith(`${this.#prefix.toLowerCase()}-`) && ownHeaderNames(this.#prefix).has(name);
  }

  /** @throws {Error} naming a header of the table that was not read */
  finish(): void {
    for (const name of this.#table.keys()) {
      if (!this.#read.has(name)) throw new Error(`the header ${name} is in the table and is not read`);
    }
  }

  #text(name: string, kind: HeaderKind): string | undefined {
    const value = this.#values.get(this.#reads(name, kind));
    return value === undefined ? undefined : headerText(value).trim() || undefined;
  }

  #reads(name: string, kind?: HeaderKind): string {
    const key = keyOf(name, kind);
    const known = this.#table.get(key);
    if (known === undefined || (kind !== undefined && known !== kind)) {
      throw new Error(`${name} is not a ${kind ?? 'header'} in the operation's table: see header-parameters.ts`);
    }
    this.#read.add(key);
    return key;
  }

  #wrong(name: string, value: string, expected: string): ApiError {
    return new ApiError(400, `${this.called(name)} must be ${expected}, not ${JSON.stringify(value.slice(0, 100))}`);
  }
}

type CompiledTable = ReadonlyMap<string, HeaderKind>;

const compiledTables = new WeakMap<HeaderTable, CompiledTable>();

/** Caches compiled tables: the tables are few and the requests many. */
function compiled(table: HeaderTable): CompiledTable {
  let known = compiledTables.get(table);
  if (known === undefined) {
    known = new Map(Object.entries(table).map(([name, kind]) => [keyOf(name, kind), kind]));
    compiledTables.set(table, known);
  }
  return known;
}

function keyOf(name: string, kind: HeaderKind | undefined): string {
  return kind === 'forward' ? `${name.toLowerCase()}-` : name.toLowerCase();
}

/** Pattern of a URL in ASCII, with a host and without credentials. */
// bounded: a header
const IS_HTTP = /^[hH][tT][tT][pP][sS]?:\/\/[!-"$-.0->A-~]+([/?#][!-~]*)?$/;

/** Returns true for a URL that messages can be delivered to: all ASCII, with a host, without credentials. */
export function isHttpUrl(text: string): boolean {
  return IS_HTTP.test(text) && URL.canParse(text);
}
