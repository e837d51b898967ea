/** A request in parts that the fuzzer changes, with the list of changes and the parts that an error must name. */
import type { Random } from '#foundation/platform/random.ts';
import { DESTINATION, type FuzzOperation } from './operations.ts';

export interface Credentials {
  readonly token: string;
  /** Credentials, `user:password`. */
  readonly management: string;
  readonly accountId: string;
}

/** Change of the bytes at the end. */
export type Framing =
  | 'good'
  | 'truncated'
  | 'garbage-after'
  | 'chunks'
  | 'chunks-cut'
  | 'two-lengths'
  | 'negative-length'
  | 'absurd-length'
  | 'length-and-chunks';

export class Draft {
  readonly operation: FuzzOperation;
  readonly random: Random;
  readonly changes: string[] = [];
  method: string;
  readonly path = new Map<string, string>();
  /** A path that must be rejected stays so. */
  pathIsBad = false;
  /** Change of the path as it is sent. */
  spoilPath = (path: string): string => path;
  readonly query: string[] = [];
  /** Header lines, so that names and values may contain anything. */
  readonly headers: string[] = [];
  authorization: string | undefined;
  /** JSON by name, for a body that is an object. */
  readonly fields = new Map<string, string>();
  /** Replaces the fields. */
  body: Buffer | undefined;
  version = 'HTTP/1.1';
  host = true;
  framing: Framing = 'good';
  /** True if the service must reject it. */
  bad = false;
  /** Names of which an error must contain one; undefined when the place of a fault is ambiguous. */
  where: Set<string> | undefined = new Set();

  constructor(operation: FuzzOperation, random: Random, credentials: Credentials) {
    this.operation = operation;
    this.random = random;
    this.method = operation.method;
    for (const [, name] of operation.path.matchAll(/\{(\w+)\}/g)) {
      this.path.set(name!, operation.takesRest ? DESTINATION : name === 'id' ? credentials.accountId : 'name');
    }
    if (operation.api === 'message') this.authorization = `Bearer ${credentials.token}`;
    if (operation.api === 'management') this.authorization = `Basic ${btoa(credentials.management)}`;
    if (operation.body === 'raw') this.body = Buffer.from('hi');
    if (typeof operation.body !== 'object') return;
    for (const [name, { good }] of Object.entries(operation.body)) {
      if (good !== undefined) this.fields.set(name, good.replace('{account}', credentials.accountId));
    }
  }

  /** Records a change that the service may accept or reject. `where` are names that an error may contain. */
  change(what: string, where?: readonly string[]): this {
    this.changes.push(what.length > 80 ? `${what.slice(0, 80)}…` : what);
    if (where === undefined) this.where = undefined;
    else for (const name of where) this.where?.add(name);
    return this;
  }

  /** Records a change that the service must reject. */
  refuse(what: string, where?: readonly string[]): this {
    this.bad = true;
    return this.change(what, where);
  }

  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.random() * values.length)]!;
  }

  /** Returns the values of a header given so far, without empty ones. */
  valuesOf(name: string): readonly string[] {
    const start = `${name.toLowerCase()}:`;
    const lines = this.headers.filter((line) => line.toLowerCase().startsWith(start));
    return lines.map((line) => line.slice(start.length).trim()).filter((value) => value !== '');
  }
}

export interface Spoiler {
  readonly fits: (operation: FuzzOperation) => boolean;
  readonly spoil: (draft: Draft) => void;
}

export const always = (): boolean => true;

export function when(fits: Spoiler['fits'], spoil: Spoiler['spoil']): Spoiler {
  return { fits, spoil };
}
