/** Applies a seed to a service. Messages are published like those of a client, so their errors are the same. */
import type { Account } from '../state/account.ts';
import { ApiError } from '../state/api-error.ts';
import { headerValue } from '../state/header-text.ts';

import type { ControlledService } from './controlled-service.ts';
import { replayPastTraffic, type PastTraffic } from './past-traffic.ts';
import type { ScriptedDestinations } from './scripted-destinations.ts';
import { MESSAGE_SETTINGS, type Seed, type SeededMessage } from './seed-body.ts';
import { plantFailures, type SeedBed } from './seeded-failures.ts';

export interface Planted {
  /** Ids of the dead letters, then of the failed runs, in the given order. */
  readonly dlqIds: readonly string[];
  readonly indexIds: readonly string[];
  /** Ids of the published messages and run ids of the triggered runs. A message to a group has one for each endpoint. */
  readonly messageIds: readonly string[];
  readonly history?: PastTraffic;
}

type Bed = ControlledService &
  SeedBed & { readonly account: Account; readonly destinations: Pick<ScriptedDestinations, 'script'> };

/** @throws {ApiError} with the place in the seed; the earlier parts are in the service then */
export async function plantSeed(seed: Seed, bed: Bed): Promise<Planted> {
  const { account, state, accounts, engine, indexes, now } = bed;
  const { plan = account.plan, budgetUsd, limits } = seed;
  if (plan !== account.plan) accounts.setPlan(account.id, { plan, now });
  if (budgetUsd !== undefined) account.budgetUsd = budgetUsd;
  if (limits !== undefined) account.limits = { ...account.limits, ...limits };
  engine.limitsChanged();
  const groupLimits = bed.limitsOf(account);
  await each('urlGroups', seed.urlGroups, ({ name, endpoints }) =>
    state.urlGroups.upsert(name, endpoints as never, { now, limits: groupLimits }),
  );
  for (const { key, paused = false, ...pins } of seed.flowControlKeys ?? []) {
    engine.hold(account.id, key, { paused, ...pins });
  }
  for (const id of seed.vectorIndexes ?? []) indexes.createVectorIndex(id);
  const { customerId } = account;
  const indexIds = (seed.indexes ?? []).map(({ region = 'eu-west-1', type = 'payg', ...index }) => {
    return (indexes.create({ ...index, region, type, customerId }) as { readonly id: string }).id;
  });
  const { days = 30, logMinutes = 10, deadLetters = 25 } = seed.history ?? {};
  const history = seed.history && replayPastTraffic({ ...bed, days, logMinutes, deadLetters });
  const dlqIds = plantFailures(seed, bed);
  for (const [place, steps] of Object.entries(seed.destinations ?? {})) await bed.destinations.script(place, steps);
  const messageIds = await each('messages', seed.messages, (message) => publishAll(message as SeededMessage, bed));
  return { dlqIds, indexIds, messageIds: messageIds.flat(), ...(history !== undefined && { history }) };
}

async function each<T, R>(
  name: string,
  items: readonly T[] | undefined,
  apply: (item: T) => R | Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for (const [index, item] of (items ?? []).entries())
    results.push(await inPlace(`${name}.${index}`, () => apply(item)));
  return results;
}

/** Adds the place in the seed to an error of `apply`. */
export async function inPlace<R>(place: string, apply: () => R | Promise<R>): Promise<R> {
  try {
    return await apply();
  } catch (error) {
    throw error instanceof ApiError ? new ApiError(error.status, `${place}: ${error.message}`) : error;
  }
}

async function publishAll({ count = 1, ...message }: SeededMessage, bed: Bed): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) ids.push(...(await publish(message, bed)));
  return ids;
}

/** @throws {ApiError} as the response to a client's publish or trigger */
async function publish(message: SeededMessage, { account, match, headerPrefix }: Bed): Promise<readonly string[]> {
  const { destination, body = '', headers = {}, workflow = false } = message;
  const operation = workflow ? 'trigger' : 'publish';
  const { route, params } = match('POST', `/v2/${operation}/${destination}`);
  const set = MESSAGE_SETTINGS.flatMap((name) => {
    const value = message[name];
    return value === undefined ? [] : [[name.replaceAll(/[A-Z]/g, '-$&'), String(value)] as const];
  });
  const forwarded = Object.entries(headers).map(([name, value]) => [`Forward-${name}`, value] as const);
  const { json } = await route.handle({
    account,
    params,
    query: new URLSearchParams(),
    headers: Object.fromEntries(
      [...set, ...forwarded].map(([name, value]) => [`${headerPrefix}-${name}`.toLowerCase(), headerValue(value)]),
    ),
    body: Buffer.from(body),
    callerIp: '127.0.0.1',
  });
  return idsOf(json as Published);
}

interface Published {
  readonly messageId?: string;
  readonly workflowRunId?: string;
  readonly messages?: readonly Published[];
}

function idsOf(answer: Published | readonly Published[]): readonly string[] {
  if (Array.isArray(answer)) return (answer as readonly Published[]).flatMap(idsOf);
  const { messages, messageId, workflowRunId } = answer as Published;
  return messages?.flatMap(idsOf) ?? [messageId ?? workflowRunId!];
}
