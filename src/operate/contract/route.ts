/** Routes of the API as data: the handlers, the document, and the requests of the commands follow from them. */
import { z } from 'zod';
import type { Role } from '../http/access.ts';
import type { Infer, Schema } from './schema.ts';

export type RouteKey = `${'GET' | 'POST'} ${string}`;

interface Described<Q extends z.ZodObject, B extends z.ZodType, A> {
  /** Name of the operation in the document. */
  readonly id: string;
  readonly summary: string;
  /** Least role; `socket`: only over the unix socket. */
  readonly role: Role | 'socket';
  /** Command with the same effect on the daemon’s machine. Required for every POST. */
  readonly command?: string;
  /** True if an authorized request may take minutes without a byte. */
  readonly isLong?: boolean;
  /** Name of `{id}` in the document; default: `id`. */
  readonly parameter?: string;
  readonly query?: Q;
  readonly body?: B;
  /** Form of the body, for its errors; absent if the handler reads the body. */
  readonly form?: string;
  /** Maximum size of the body, if it is larger than that of other commands. */
  readonly maxBytes?: number;
  readonly answer: Schema<A>;
  /** Statuses of its errors, in addition to those that every operation can have. */
  readonly errors?: readonly number[];
}

export interface ContractRoute<
  K extends RouteKey = RouteKey,
  Q extends z.ZodObject = z.ZodObject,
  B extends z.ZodType = z.ZodType,
  A = unknown,
> extends Described<Q, B, A> {
  readonly key: K;
  readonly query: Q;
}

const NO_QUERY = z.strictObject({});

/** @param key method and path; `{id}` can only be its last part */
export function route<
  const K extends RouteKey,
  A,
  Q extends z.ZodObject = typeof NO_QUERY,
  B extends z.ZodType = z.ZodUndefined,
>(key: K, described: Described<Q, B, A>): ContractRoute<K, Q, B, A> {
  return { ...described, key, query: described.query ?? (NO_QUERY as unknown as Q) };
}

export type QueryOf<R extends ContractRoute> = z.output<R['query']>;
export type BodyOf<R extends ContractRoute> = z.output<NonNullable<R['body']>>;
export type AnswerOf<R extends ContractRoute> = Infer<R['answer']>;

export function methodOf({ key }: Pick<ContractRoute, 'key'>): 'GET' | 'POST' {
  return key.startsWith('GET ') ? 'GET' : 'POST';
}

export function pathOf({ key }: Pick<ContractRoute, 'key'>): string {
  return key.slice(key.indexOf(' ') + 1);
}
