/** Handlers of the contract's routes: role, query and body are read as the contract states them. */
import { z } from 'zod';
import type { Refusal } from '#automate/ledger/commands.ts';
import { methodOf, pathOf, type AnswerOf, type BodyOf, type ContractRoute, type QueryOf } from '../contract/route.ts';
import { allow, allowLocal } from '../http/access.ts';
import { readJson } from '../http/json-body.ts';
import { readQuery } from '../http/query.ts';
import { HttpError, json, type Reply } from '../http/reply.ts';
import type { ApiContext, ApiRoute } from './api-deps.ts';

/** Request of a route, as its handler gets it. */
export interface Given<R extends ContractRoute> extends Omit<ApiContext, 'query'> {
  readonly query: QueryOf<R>;
  readonly body: BodyOf<R>;
  /** Caller, for the record; empty for a route that only reads. */
  readonly by: string;
}

export function implement<R extends ContractRoute>(
  route: R,
  handle: (given: Given<R>) => AnswerOf<R> | Promise<AnswerOf<R>>,
): ApiRoute {
  return implementWhole(route, async (_context, given) => json(200, await handle(given)));
}

/** Route whose handler makes the response itself. */
export function implementWhole<R extends ContractRoute>(
  route: R,
  handle: (context: ApiContext, given: Given<R>) => Reply | Promise<Reply>,
): ApiRoute {
  return {
    path: pathOf(route),
    method: methodOf(route),
    handle: async (context) => handle(context, await given(route, context)),
  };
}

/** Checks the caller's role before it reads the body. */
async function given<R extends ContractRoute>(route: R, context: ApiContext): Promise<Given<R>> {
  const { role, command, isLong, body, form, maxBytes } = route;
  const query = readQuery(context.query, route.query) as QueryOf<R>;
  const caller =
    command === undefined
      ? undefined
      : role === 'socket'
        ? allowLocal(context, command)
        : allow(context, role, command);
  // Reading the service may take minutes without a byte.
  if (isLong === true) context.mayTakeLong();
  const read = form === undefined ? undefined : await readJson(context.request, body ?? z.undefined(), form, maxBytes);
  return { ...context, query, body: read as BodyOf<R>, by: caller?.by ?? '' };
}

const STATUS_OF_REFUSAL: Readonly<Record<Refusal['code'], number>> = {
  unknown_policy: 404,
  unknown_plan: 404,
  bad_override: 400,
  bad_selection: 400,
  other_queue: 409,
  expired: 409,
  decided: 409,
  mode: 409,
  unknown_id: 404,
  unread: 502,
};

export function refusedError({ code, message }: Refusal): HttpError {
  return new HttpError(STATUS_OF_REFUSAL[code], code, message);
}
