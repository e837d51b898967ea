/**
 * Examples of every operation and callback: a request body, where the operation has one, and a response of each form.
 * Tests validate them against the schemas.
 */

export interface Spelling {
  /** `Svc`, or the prefix of the installation. */
  readonly headerPrefix: string;
  /** `msgsvc`, or the brand of the installation. */
  readonly product: string;
}

/** Examples by name. */
export type Examples = Readonly<Record<string, { readonly value: unknown }>>;

interface OperationExamples {
  readonly request: Examples;
  readonly answers: Examples;
}

/** @param operation name of an operation of the table, or of a callback */
export function examplesOf(operation: string, spelling: Spelling): OperationExamples {
  const { request, answer, answers = { done: answer } } = TABLE[operation]!(spelling);
  return { request: named(request === undefined ? {} : { request }), answers: named(answers) };
}

function named(values: Readonly<Record<string, unknown>>): Examples {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));
}

type Written = (spelling: Spelling) => {
  readonly request?: unknown;
  readonly answer?: unknown;
  readonly answers?: Readonly<Record<string, unknown>>;
};

const AT = 1_795_168_796_000;
const BILLING = 'https://billing.example.com/hooks/orders';
const SHIPPING = 'https://shipping.example.com/hooks/orders';
const WORKFLOW = 'https://app.example.com/api/workflows/invoice';
const MESSAGE = 'msg_2Kq9vYdTzLrW';
const RUN = 'wfr_8fGd2mQpXa';

const endpoints = [
  { name: 'billing', url: BILLING },
  { name: 'shipping', url: SHIPPING },
];

const results = [
  { messageId: MESSAGE, url: BILLING, deduplicated: false },
  { messageId: 'msg_7TbXw0aLmNcR', url: SHIPPING, deduplicated: false },
];

const point = (y: number) => [{ x: '2026-11-20 12:00:00.000000000 +0000 UTC', y }];

const each = (names: readonly string[], value: unknown): Readonly<Record<string, unknown>> =>
  Object.fromEntries(names.map((name) => [name, value]));

const index = {
  customer_id: 'owner@example.com',
  id: '6f1c2b1e-0d5a-4c1f-9a57-3c1d2e4f5a6b',
  name: 'goods',
  endpoint: 'https://goods-1a2b3-eu-west-1-search.example',
  type: 'payg',
  region: 'eu-west-1',
  integration_email: '',
  token: 'index-token',
  read_only_token: 'index-read-only-token',
  max_vector_count: 2_000_000,
  ...each(['max_monthly_reranks', 'max_daily_updates', 'max_daily_queries'], -1),
  max_monthly_bandwidth: 1_000_000_000_000,
  ...each(['max_writes_per_second', 'max_query_per_second'], 1_000),
  ...each(['max_reads_per_request', 'max_writes_per_request'], 1_000),
  creation_time: 1_795_168_796,
  input_enrichment_enabled: true,
  throughput_vector: point(12.5),
};

const account = (product: string) => ({
  customer_id: 'owner@example.com',
  id: '7d8a1f5e-3c42-4b6e-9a10-5f2e8c7b4d31',
  token: 'new-token',
  read_only_token: 'new-read-only-token',
  active: true,
  state: 'active',
  last_plan_upgrade_time: 1_795_168_796,
  max_message_size: 10_485_760,
  max_requests_per_day: 1_000_000,
  max_requests_per_day_hard: 2_000_000,
  max_endpoints_per_topic: 100,
  max_requests_per_second: 1_000,
  max_dlq_size: 50_000,
  max_retries: 5,
  max_topics: 100,
  max_schedules: 1_000,
  max_events_size: 10_000,
  max_dlq_retention_time_milis: 2_592_000_000,
  max_delay: 31_536_000,
  max_parallelism: 100,
  max_global_parallelism: 1_000,
  max_queues: 100,
  max_bandwidth_per_second: 104_857_600,
  prod_pack_enabled: false,
  metrics_enabled: 'true',
  timeout: 7_200,
  type: 'paid',
  region: 'eu-central-1',
  reserved_type: `${product}_fixed_1m`,
  reserved_price: 180,
  created_by: 'owner@example.com',
  creation_time: 1_795_165_200,
  deletion_time: 0,
  budget: 200,
});

const accountStatistics = (product: string) => ({
  days: ['2026-11-20'],
  daily_billings: point(0.42),
  daily_bandwidths: point(73_400),
  daily_used: point(42_000),
  daily_used_workflow: point(310),
  daily_bandwidth_used: point(73_400),
  daily_requests: [{ ...point(42_310)[0], workflow_message: 310, workflow_run: 120 }],
  [`daily_${product}_messages`]: [{ id: 'delivered', data_points: point(41_950) }],
  daily_workflow_messages: [{ id: 'delivered', data_points: point(305) }],
  dlq_message_count: 7,
  total_monthly_billing: 8.4,
});

const vectorStatistics = {
  pending_index_count: 3,
  current_vector_count: 120_000,
  daily_query_count: 9_100,
  daily_update_count: 1_200,
  monthly_query_count: 182_000,
  monthly_update_count: 24_000,
  monthly_bandwidth_usage: 730_000_000,
  storage_usage: 480_000_000,
  daily_rerank_count: 40,
  monthly_rerank_count: 800,
  monthly_cost: 0.73,
  days: ['Friday'],
  ...each(['daily_update_requests', 'daily_query_requests', 'daily_bandwidths', 'daily_rerank_requests'], point(1_200)),
  ...each(['query_throughput', 'update_throughput'], point(12.5)),
  ...each(['query_latency_mean', 'update_latency_mean', 'embeds_latency_mean', 'rerank_latency_mean'], point(8.1)),
  ...each(['query_latency_99', 'update_latency_99', 'embeds_latency_99', 'rerank_latency_99'], point(31)),
  vector_count: point(120_000),
  data_size: point(480_000_000),
};

const callback = {
  status: 503,
  header: { 'Content-Type': ['text/plain'] },
  body: 'dHJ5IGxhdGVy',
  retried: 3,
  maxRetries: 3,
  sourceMessageId: MESSAGE,
  url: BILLING,
  method: 'POST',
  sourceHeader: { 'Content-Type': 'application/json' },
  sourceBody: 'eyJvcmRlciI6Im8tMTIwNyJ9',
  notBefore: String(AT - 95_000),
  createdAt: String(AT - 95_000),
  callerIP: '203.0.113.7',
};

const OK = 'OK';

const TABLE: Readonly<Record<string, Written>> = {
  'add-endpoints': () => ({ request: { endpoints }, answers: {} }),
  'list-url-groups': () => ({ answer: [{ name: 'order-events', createdAt: AT, updatedAt: AT, endpoints }] }),
  'list-logs': ({ headerPrefix }) => ({
    answer: {
      cursor: `${AT}-7`,
      logs: [
        {
          time: AT,
          state: 'ERROR',
          messageId: MESSAGE,
          header: { 'Content-Type': ['application/json'], [`${headerPrefix}-Flow-Control-Key`]: ['tenant-14'] },
          body: '{"order":"o-1207"}',
          error: 'unexpected status 503',
          nextDeliveryTime: AT + 12_000,
          url: BILLING,
          topicName: 'order-events',
          endpointName: 'billing',
          responseStatus: 503,
          responseBody: 'try later',
          responseHeaders: { 'Retry-After': ['10'] },
          timeout: 30,
          method: 'POST',
          maxRetries: 3,
          label: 'billing',
          labels: ['billing', 'tenant:14'],
        },
      ],
    },
  }),
  publish: () => ({
    request: '{"order":"o-1207"}',
    answers: {
      url: { messageId: MESSAGE, deduplicated: false },
      duplicate: { messageId: MESSAGE, deduplicated: true },
      group: results,
      groupInSomeInstallations: { messages: results },
    },
  }),
  trigger: () => ({
    request: '{"invoice":"i-77"}',
    answer: { workflowRunId: RUN, workflowCreatedAt: AT },
  }),
  'list-workflow-dlq': ({ headerPrefix }) => ({
    answer: {
      messages: [
        {
          dlqId: 'dlq_1795168796000-0',
          workflowUrl: WORKFLOW,
          workflowRunId: RUN,
          workflowCreatedAt: AT - 95_000,
          url: WORKFLOW,
          method: 'POST',
          header: { [`${headerPrefix}-Workflow-RunId`]: [RUN] },
          body: '{"invoice":"i-77"}',
          maxRetries: 3,
          createdAt: AT,
          failureCallback: 'https://ops.example.com/failures',
          callerIP: '203.0.113.7',
          failureFunctionState: 'CALLBACK_SUCCESS',
          responseStatus: 503,
          responseHeader: { 'Content-Type': ['text/plain'] },
          responseBody: 'upstream connect error',
        },
      ],
    },
  }),
  'resume-workflow-dlq': () => ({
    answer: { workflowRuns: [{ workflowRunId: 'wfr_k2fPzQ7dYm', workflowCreatedAt: AT }], cursor: '' },
  }),
  'delete-workflow-dlq': () => ({ answer: { deleted: 100, cursor: `${AT}-99` } }),
  'delete-dlq': () => ({ answer: { deleted: 1 } }),
  'get-flow-control': () => ({
    answer: {
      flowControlKey: 'tenant-14',
      waitListSize: 42,
      parallelismMax: 5,
      parallelismCount: 5,
      rateMax: 10,
      rateCount: 4,
      ratePeriod: 60,
      ratePeriodStart: 1_795_168_780,
      isPinnedParallelism: false,
      isPinnedRate: true,
      isPaused: false,
    },
  }),
  'move-to-team': ({ product }) => ({
    request: { [`${product}_id`]: '7d8a1f5e-3c42-4b6e-9a10-5f2e8c7b4d31', target_team_id: 'team-9' },
    answer: OK,
  }),
  'set-plan': ({ product }) => ({ request: { plan_name: `${product}_fixed_1m` }, answer: OK }),
  'rotate-token': ({ product }) => ({ answer: account(product) }),
  'update-budget': () => ({ request: { budget: 200 }, answer: OK }),
  'get-account-stats': ({ product }) => ({ answer: accountStatistics(product) }),
  'create-index': () => ({ request: { name: 'goods', region: 'eu-west-1', type: 'payg' }, answer: index }),
  'get-index': () => ({ answer: index }),
  'rename-index': () => ({ request: { name: 'goods' }, answer: OK }),
  'transfer-index': () => ({ request: { target_account: 'team-9' }, answer: OK }),
  'get-vector-stats': () => ({ answer: vectorStatistics }),
  callback: () => ({ request: { ...callback, retried: 0 }, answers: {} }),
  'failure-callback': () => ({ request: { ...callback, dlqId: 'dlq_1795168796000-0' }, answers: {} }),
};
