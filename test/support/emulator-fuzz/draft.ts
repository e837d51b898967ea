/** A request in parts, on its way to be spoilt, with what was done to it and where a refusal must look. */
import type { Random } from '#foundation/platform/random.ts';
import { DESTINATION, type FuzzOperation } from './operations.ts';

export interface Credentials {
  readonly token: string;
  /** `user:password` */
  readonly management: string;
  readonly accountId: string;
}

/** What is done to the bytes at the end. */
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
  /** A path that must not be taken stays so. */
  pathIsBad = false;
  /** Of the path as it is sent. */
  spoilPath = (path: string): string => path;
  readonly query: string[] = [];
  /** Lines, so that names and values may hold anything. */
  readonly headers: string[] = [];
  authorization: string | undefined;
  /** JSON by name, of a body that is an object. */
  readonly fields = new Map<string, string>();
  /** In the place of the fields. */
  body: Buffer | undefined;
  version = 'HTTP/1.1';
  host = true;
  framing: Framing = 'good';
  /** Whether it must not be taken. */
  bad = false;
  /** A refusal names one of these; undefined when the place of a fault cannot be told. */
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

  /** A change with which the request may be fine or not. `where` are names that a refusal of it may give. */
  change(what: string, where?: readonly string[]): this {
    this.changes.push(what.length > 80 ? `${what.slice(0, 80)}…` : what);
    if (where === undefined) this.where = undefined;
    else for (const name of where) this.where?.add(name);
    return this;
  }

  /** A change after which the request must not be taken. */
  refuse(what: string, where?: readonly string[]): this {
    this.bad = true;
    return this.change(what, where);
  }

  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.random() * values.length)]!;
  }

  /** The values of a header as it was given so far, without empty ones. */
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
