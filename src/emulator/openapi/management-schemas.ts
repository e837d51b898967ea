/** Requests and responses of the management API (interface 2.7 to 2.11), in the spelling of an installation. */
import type { PlanName } from '../state/account.ts';
import { INDEX_REGIONS, INDEX_TYPES } from '../statistics/indexes.ts';
import { choiceOf, flag, integer, listOf, long, number, objectOf, ref, text, type JsonSchema } from './json-schema.ts';

const points = listOf(ref('DataPoint'));
const series = listOf(ref('Series'));

/** Bounds of a budget in dollars; 0 means no limit and is also allowed. The request reader uses them too. */
export const BUDGET = { minimum: 20, maximum: 10_000 };

/** Returns the plans of `set-plan`, by their name in a request body. */
export function planNames(product: string): ReadonlyMap<string, PlanName> {
  return new Map<string, PlanName>([
    ['paid', 'paid'],
    [`${product}_fixed_1m`, 'fixed_1m'],
    [`${product}_fixed_10m`, 'fixed_10m'],
    [`${product}_fixed_100m`, 'fixed_100m'],
  ]);
}

const accountRecord: Readonly<Record<string, JsonSchema>> = {
  customer_id: text('E-mail address or id of a team.'),
  id: text(),
  token: text('Secret.'),
  read_only_token: text('Secret.'),
  active: flag(),
  state: text('active, passive, or another state.'),
  modifying_state: text('Change in progress, such as suspended.'),
  last_plan_upgrade_time: long('Unix seconds; 0 before the first.'),
  max_message_size: integer('Bytes.'),
  max_requests_per_day: integer('Soft limit.'),
  max_requests_per_day_hard: integer('Hard limit.'),
  max_endpoints_per_topic: integer('Endpoints of a URL Group.'),
  max_requests_per_second: integer(),
  max_dlq_size: integer(),
  max_retries: integer(),
  max_topics: integer('URL Groups.'),
  max_schedules: integer(),
  max_events_size: integer(),
  max_dlq_retention_time_milis: long('Milliseconds.'),
  max_delay: integer('Seconds.'),
  max_parallelism: integer('Parallelism of an endpoint.'),
  max_global_parallelism: integer('Parallelism of all endpoints.'),
  max_queues: integer(),
  max_bandwidth_per_second: long('Bytes.'),
  prod_pack_enabled: flag(),
  metrics_enabled: choiceOf(['true', 'false']),
  timeout: integer('Seconds.'),
  type: choiceOf(['free', 'paid']),
  region: choiceOf(['eu-central-1', 'us-east-1']),
  reserved_type: text('Plan of fixed size, or enterprise:<identifier>; may be empty.'),
  reserved_price: integer(),
  created_by: text('E-mail address.'),
  creation_time: long('Unix seconds.'),
  deletion_time: long('Unix seconds; 0 when it is not deleted.'),
  budget: integer('Dollars a month; 0 is no limit.'),
  enterprise: { type: 'object', description: 'Only for enterprise accounts.' },
};

const unlimited = (description = ''): JsonSchema => integer(`${description}-1 is unlimited.`);

const searchIndex: Readonly<Record<string, JsonSchema>> = {
  customer_id: text('Owner.'),
  id: text(),
  name: text(),
  endpoint: text('URL of the index.'),
  type: choiceOf(INDEX_TYPES),
  region: choiceOf(INDEX_REGIONS),
  integration_email: text('Empty when there is no integration.'),
  token: text('Secret.'),
  read_only_token: text('Secret.'),
  max_vector_count: integer(),
  max_monthly_reranks: unlimited(),
  max_daily_updates: unlimited(),
  max_daily_queries: unlimited(),
  max_monthly_bandwidth: unlimited('Bytes. '),
  max_writes_per_second: integer(),
  max_query_per_second: integer(),
  max_reads_per_request: integer(),
  max_writes_per_request: integer(),
  creation_time: long('Unix seconds.'),
  input_enrichment_enabled: flag(),
  throughput_vector: points,
};

const VECTOR_INTEGERS = [
  'pending_index_count',
  'current_vector_count',
  'daily_query_count',
  'daily_update_count',
  'monthly_query_count',
  'monthly_update_count',
  'monthly_bandwidth_usage',
  'storage_usage',
  'daily_rerank_count',
  'monthly_rerank_count',
];

const VECTOR_POINTS = [
  'daily_update_requests',
  'daily_query_requests',
  'daily_bandwidths',
  'query_throughput',
  'update_throughput',
  'query_latency_mean',
  'query_latency_99',
  'update_latency_mean',
  'update_latency_99',
  'embeds_latency_mean',
  'embeds_latency_99',
  'vector_count',
  'data_size',
  'daily_rerank_requests',
  'rerank_latency_mean',
  'rerank_latency_99',
];

const each = (names: readonly string[], schema: JsonSchema): Readonly<Record<string, JsonSchema>> =>
  Object.fromEntries(names.map((name) => [name, schema]));

const x = {
  ...text('YYYY-MM-DD hh:mm:ss[.fraction] +0000 UTC'),
  pattern: '^\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}(\\.\\d{1,9})? \\+0000 UTC$',
};

/** Schema of a string that is not blank. */
const given = (description?: string): JsonSchema => ({ ...text(description), minLength: 1, pattern: '\\S' });

/** @param product `msgsvc`, or the brand of the installation */
export function managementSchemas(product: string): Readonly<Record<string, JsonSchema>> {
  return {
    Ok: choiceOf(['OK']),
    DataPoint: objectOf({ x, y: number() }),
    RequestsDataPoint: objectOf({ x, y: number(), workflow_message: number(), workflow_run: number() }),
    Series: objectOf({ id: text('Name of the metric: an open set.'), data_points: points }),
    MoveToTeam: objectOf({ [`${product}_id`]: given('Id of the account.'), target_team_id: given() }),
    SetPlan: objectOf({ plan_name: choiceOf([...planNames(product).keys()]) }),
    UpdateBudget: objectOf({
      budget: {
        description: 'Dollars a month; 0 is no limit.',
        anyOf: [
          { type: 'integer', minimum: 0, maximum: 0 },
          { type: 'integer', ...BUDGET },
        ],
      },
    }),
    NewIndex: objectOf({
      name: given(),
      region: choiceOf(INDEX_REGIONS),
      type: choiceOf(INDEX_TYPES, 'free and payg are available at present.'),
    }),
    RenameIndex: objectOf({ name: given() }),
    TransferIndex: objectOf({ target_account: given('Id of the new owner.') }),
    Account: objectOf(accountRecord, { optional: ['modifying_state', 'enterprise', 'reserved_type'] }),
    SearchIndex: objectOf(searchIndex),
    AccountStatistics: objectOf({
      days: listOf(text('YYYY-MM-DD'), 'Every day of the month, future ones included.'),
      daily_billings: points,
      daily_bandwidths: points,
      daily_used: points,
      daily_used_workflow: points,
      daily_bandwidth_used: points,
      daily_requests: listOf(ref('RequestsDataPoint')),
      [`daily_${product}_messages`]: series,
      daily_workflow_messages: series,
      dlq_message_count: integer(),
      total_monthly_billing: number('Dollars.'),
    }),
    VectorStatistics: objectOf({
      ...each(VECTOR_INTEGERS, integer()),
      monthly_cost: number('Dollars.'),
      days: listOf(text('Monday … Sunday')),
      ...each(VECTOR_POINTS, points),
    }),
  };
}
