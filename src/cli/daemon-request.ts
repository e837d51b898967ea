/** Requests of the API's routes, with the types of the contract. */
import type { z } from 'zod';
import type { Routes } from '#operate/contract/index.ts';
import type { AnswerOf, ContractRoute, QueryOf } from '#operate/contract/route.ts';
import { CommandError } from './command.ts';
import { exchange, pathWith, type DaemonCall, type Query } from './daemon-exchange.ts';

/** Fields that every version's plans have. */
export const PLAN_FIELDS = ['state', 'chosen', 'checks', 'skipped', 'campaigns', 'caps', 'notes'] as const;

type Frozen<T> = T extends readonly (infer U)[]
  ? readonly Frozen<U>[]
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T;

interface Request<R extends ContractRoute> {
  /** Value of `{id}`. */
  readonly id?: string;
  readonly query?: { readonly [K in keyof QueryOf<R>]?: Query[string] };
  readonly body?: Frozen<z.input<NonNullable<R['body']>>>;
}

/**
 * @param fields fields that the response must have: another program, or another version of this one, may lack them
 * @throws {CommandError} if no daemon responds or it rejects the request
 */
export async function request<K extends keyof Routes>(
  daemon: DaemonCall,
  route: K,
  { id = '', query = {}, body }: Request<Routes[K]> = {},
  ...fields: readonly (string & keyof AnswerOf<Routes[K]>)[]
): Promise<AnswerOf<Routes[K]>> {
  const [method, pattern] = route.split(' ') as ['GET' | 'POST', string];
  const path = pattern.replace('{id}', encodeURIComponent(id));
  const answer = await exchange(daemon, { method, path: pathWith(path, query), body });
  const missing = fields.find((field) => answer[field] === undefined);
  if (missing === undefined) return answer as AnswerOf<Routes[K]>;
  throw new CommandError(`the response of ${path} has no ${missing}; check that it is opsd`);
}
