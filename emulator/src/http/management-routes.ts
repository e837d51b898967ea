/**
 * The management API: accounts and indexes (interface 4.2). Only this file knows how an installation spells its product
 * in paths, plan names and fields.
 *
 * Errors: 400 for an invalid body or parameter, 404 for an unknown account or index. The emulator keeps no teams: a
 * transfer accepts any id as the new owner.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '#foundation/platform/clock.ts';
import type { AccountBook } from '../state/account-book.ts';
import { accountRecord, type AccountOrigin } from './account-record.ts';
import type { Account, PlanName } from '../state/account.ts';
import { INDEX_REGIONS, INDEX_TYPES, type Indexes } from '../statistics/indexes.ts';
import { QUERY_PARAMETERS } from './query-parameters.ts';
import { Query } from './query.ts';
import { ApiError } from '../state/api-error.ts';
import type { ReceivedRequest, ApiResponse, Route } from './route.ts';
import type { StatsPeriodName } from '../statistics/statistics-period.ts';
import type { Statistics } from '../statistics/statistics.ts';
import { DEFAULT_SWITCHES } from '../state/switches.ts';

export interface ManagementDeps {
  /** First start of the service, in epoch milliseconds; the present time when absent. */
  readonly startedAt?: number;
  readonly clock: Clock;
  readonly accounts: AccountBook;
  readonly statistics: Statistics;
  readonly indexes: Indexes;
  /** `msgsvc`, or the brand of the installation. */
  readonly product: string;
  /** Returns the number of messages in the message DLQ of an account. */
  readonly dlqMessageCount: (accountId: string) => number;
}

/** Bounds of a budget in dollars; 0 means no limit and is also allowed. */
const BUDGET = { minimum: 20, maximum: 10_000 };

const FIXED_PLANS = ['fixed_1m', 'fixed_10m', 'fixed_100m'] as const;

const OK: ApiResponse = { status: 200, json: 'OK' };

/** Returns a route of the management API. */
function route(operation: string, method: Route['method'], pattern: string, handle: Route['handle']): Route {
  return { api: 'management', operation, method, pattern, handle };
}

export function managementRoutes(deps: ManagementDeps): readonly Route[] {
  return [...accountRoutes(deps), ...indexRoutes(deps)];
}

function accountRoutes(deps: ManagementDeps): readonly Route[] {
  const { clock, accounts, statistics, product } = deps;
  const startedAt = Math.floor((deps.startedAt ?? clock.now()) / 1_000);
  const plans = new Map<string, PlanName>([['paid', 'paid']]);
  for (const plan of FIXED_PLANS) plans.set(`${product}_${plan}`, plan);

  function accountOf(id: string): Account {
    const account = accounts.byId(id);
    if (account === undefined) throw new ApiError(404, `account ${id} not found`);
    return account;
  }

  function originOf(account: Account): AccountOrigin {
    return {
      createdBy: account.createdBy,
      createdAt: account.createdAt === undefined ? startedAt : Math.floor(account.createdAt / 1_000),
      planChangedAt: Math.floor((account.planChanges?.at(-1)?.at ?? 0) / 1_000),
    };
  }

  return [
    route('move-to-team', 'POST', `/v2/${product}/move-to-team`, (request) => {
      const body = jsonBody(request);
      const id = textField(body, `${product}_id`);
      const team = textField(body, 'target_team_id');
      accountOf(id).customerId = team;
      return OK;
    }),
    route('set-plan', 'POST', `/v2/${product}/set-plan/:id`, (request) => {
      const account = accountOf(request.params['id']!);
      const plan = plans.get(choiceField(jsonBody(request), 'plan_name', [...plans.keys()]))!;
      accounts.setPlan(account.id, { plan, now: clock.now() });
      return OK;
    }),
    route('rotate-token', 'POST', `/v2/${product}/rotate-token/:id`, (request) => {
      const account = accountOf(request.params['id']!);
      // Both tokens change together. The account book compares with these fields, so the old tokens end here.
      account.token = newToken();
      account.readOnlyToken = newToken();
      return { status: 200, json: accountRecord(account, originOf(account), product) };
    }),
    route('update-budget', 'PATCH', `/v2/${product}/update-budget/:id`, (request) => {
      const account = accountOf(request.params['id']!);
      account.budgetUsd = budgetField(jsonBody(request));
      return OK;
    }),
    route('get-account-stats', 'GET', `/v2/${product}/stats/:id`, (request) => {
      const { id } = accountOf(request.params['id']!);
      const stats = statistics.accountStats(id, periodOf(request), clock.now(), deps.dlqMessageCount(id));
      const { daily_msgsvc_messages: messages, ...rest } = stats;
      return { status: 200, json: { ...rest, [`daily_${product}_messages`]: messages } };
    }),
  ];
}

function indexRoutes({ indexes }: ManagementDeps): readonly Route[] {
  const notFound = (id: string): ApiError => new ApiError(404, `index ${id} not found`);

  return [
    route('create-index', 'POST', '/v2/search', (request) => {
      const body = jsonBody(request);
      const index = {
        name: textField(body, 'name'),
        region: choiceField(body, 'region', INDEX_REGIONS),
        type: choiceField(body, 'type', INDEX_TYPES),
        customerId: request.account.customerId,
      };
      if (index.type === 'fixed') throw new ApiError(400, 'type fixed is not available at present: free or payg');
      return { status: 200, json: indexes.create(index) };
    }),
    route('get-index', 'GET', '/v2/search/:id', (request) => {
      const id = request.params['id']!;
      const record = indexes.get(id);
      if (record === undefined) throw notFound(id);
      return { status: 200, json: record };
    }),
    route('rename-index', 'POST', '/v2/search/:id/rename', (request) => {
      const id = request.params['id']!;
      if (indexes.get(id) === undefined) throw notFound(id);
      indexes.rename(id, textField(jsonBody(request), 'name'));
      return OK;
    }),
    route('transfer-index', 'POST', '/v2/search/:id/transfer', (request) => {
      const id = request.params['id']!;
      if (indexes.get(id) === undefined) throw notFound(id);
      indexes.transfer(id, textField(jsonBody(request), 'target_account'));
      return OK;
    }),
    route('get-vector-stats', 'GET', '/v2/vector/index/:id/stats', (request) => {
      const id = request.params['id']!;
      const stats = indexes.vectorStats(id, periodOf(request));
      if (stats === undefined) throw notFound(id);
      return { status: 200, json: stats };
    }),
  ];
}

function periodOf(request: ReceivedRequest): StatsPeriodName {
  const query = new Query(request.query, QUERY_PARAMETERS['get-account-stats'], DEFAULT_SWITCHES);
  return query.choice('period') as StatsPeriodName;
}

type JsonBody = Readonly<Record<string, unknown>>;

function jsonBody(request: ReceivedRequest): JsonBody {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(request.body));
  } catch {
    throw new ApiError(400, 'the body must be a JSON object');
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonBody;
  throw new ApiError(400, 'the body must be a JSON object');
}

function textField(body: JsonBody, name: string): string {
  const value = body[name];
  if (typeof value === 'string' && value.trim() !== '') return value;
  throw new ApiError(400, `${name} is required: a string that is not empty`);
}

function choiceField<T extends string>(body: JsonBody, name: string, choices: readonly T[]): T {
  const value = textField(body, name);
  const choice = choices.find((candidate) => candidate === value);
  if (choice === undefined) throw new ApiError(400, `${name} must be one of ${choices.join(', ')}`);
  return choice;
}

/** Budget in dollars; 0 is unlimited. */
function budgetField(body: JsonBody): number {
  const budget = body['budget'];
  if (typeof budget !== 'number' || !Number.isInteger(budget)) {
    throw new ApiError(400, 'budget is required: a whole number of dollars');
  }
  if (budget !== 0 && (budget < BUDGET.minimum || budget > BUDGET.maximum)) {
    throw new ApiError(400, `budget must be 0 (no limit) or ${BUDGET.minimum} to ${BUDGET.maximum}`);
  }
  return budget;
}

/**
 * Generates a token from the system's randomness. The injected randomness is seeded, so its tokens could be predicted.
 */
function newToken(): string {
  return `tok_${randomBytes(24).toString('base64url')}`;
}
