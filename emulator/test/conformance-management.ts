/** Rows of the conformance table for sections 4.2 (management API), 5 (authentication), 7 (errors) and 8 (limits). */
import { open, proven, settled, type Row } from './conformance-row.ts';

const ROUTES = 'management-routes.test.ts';
const SERVER = 'server.test.ts';
const LIMITS = 'limits.test.ts';
const HTTP = 'conformance-management.test.ts';

const REFUSED = '%s %j is answered %i';
const PLANS = 'set-plan to %s changes plan and limits';
const PERIODS = 'statistics of %s have %d points %d minutes apart';
const INDEXES = 'are created, read, renamed and transferred';
const PERIOD_VALUES = ['1h', '3h', '12h', '1d', '3d', '7d', '30d'];
const DELIVERIES = 'delivery-limits.test.ts';

export const MANAGEMENT_ROWS: readonly Row[] = [
  ...proven(ROUTES, 'moving to a team changes the owner, not the creator', {
    '4.2.move-to-team': 'POST /v2/msgsvc/move-to-team answers OK',
    '4.2.move-to-team.body.msgsvc_id': 'the account',
    '4.2.move-to-team.body.target_team_id': 'its new owner',
  }),
  settled(open('4.2.move-to-team.required', 'requirement of both fields', 'not shown: both must'), ROUTES, REFUSED),
  ...proven(HTTP, PLANS, {
    '4.2.set-plan': 'POST /v2/msgsvc/set-plan/{id} answers OK',
    '4.2.set-plan.path.id': 'the account',
    '4.2.set-plan.body.plan_name': 'the plan; its limits come with it',
    '4.2.set-plan.body.plan_name=paid': 'a value',
    '4.2.set-plan.body.plan_name=msgsvc_fixed_1m': 'a value',
    '4.2.set-plan.body.plan_name=msgsvc_fixed_10m': 'a value',
    '4.2.set-plan.body.plan_name=msgsvc_fixed_100m': 'a value',
  }),
  settled(open('4.2.set-plan.required', 'requirement of plan_name', 'not shown: it must'), ROUTES, REFUSED),
  ...proven(SERVER, 'a rotated token stops at once, and the new one works', {
    '4.2.rotate-token': 'POST /v2/msgsvc/rotate-token/{id} answers the record with new credentials',
    '4.2.rotate-token.path.id': 'the account',
    '5.rotation': 'rotation gives a new token and a new read-only token',
  }),
  ...proven(ROUTES, 'budget %i is accepted', {
    '4.2.update-budget': 'PATCH /v2/msgsvc/update-budget/{id} answers OK',
    '4.2.update-budget.path.id': 'the account',
    '4.2.update-budget.body.budget': 'whole dollars: 0, or 20 to 10000',
    '8.budget': '0 to 10000, 0 for no limit, else 20 at least',
  }),
  ...proven('budget.test.ts', 'rejects publishes and triggers until the month turns; reads continue', {
    '8.budget-spent': 'spend that reaches the budget ends sending for the month',
  }),
  ...proven(HTTP, PERIODS, {
    '4.2.stats': 'GET /v2/msgsvc/stats/{id} answers statistics',
    '4.2.stats.path.id': 'the account',
    '4.2.stats.query.period': 'the time range, 1h by default',
    '4.2.vector-stats': 'GET /v2/vector/index/{id}/stats answers statistics',
    '4.2.vector-stats.path.id': 'the vector index',
    '4.2.vector-stats.query.period': 'the time range, 1h by default',
    ...Object.fromEntries(PERIOD_VALUES.map((period) => [`4.2.period=${period}`, 'a value'])),
    '8.points': '60 points, 240 at three hours for 30d',
  }),
  ...proven(HTTP, 'an index of type %s in %s is created', {
    '4.2.create-index': 'POST /v2/search answers the record',
    '4.2.create-index.body.name': 'its name, required',
    '4.2.create-index.body.region': 'its location, required',
    '4.2.create-index.body.region=eu-west-1': 'a value',
    '4.2.create-index.body.region=us-central1': 'a value',
    '4.2.create-index.body.type': 'its plan, required',
    '4.2.create-index.body.type=free': 'a value',
    '4.2.create-index.body.type=payg': 'a value',
  }),
  ...proven(ROUTES, REFUSED, {
    '4.2.create-index.body.type=fixed': ['not available at present: rejected', "'not available'"],
    '4.2.create-index.required': ['name, region and type are required', "{ name: 'x' }"],
    '4.2.rename-index.required': ['name is required', "['rename-index', { id: 'idx-1', body: { name: 7 } }"],
    '4.2.transfer-index.required': ['target_account is required', "['transfer-index', { id: 'idx-1', body: {} }"],
    '4.2.update-budget.required': ['budget is required', "'budget is required'"],
  }),
  ...proven(ROUTES, INDEXES, {
    '4.2.get-index': 'GET /v2/search/{id} answers the record',
    '4.2.get-index.path.id': 'the index',
    '4.2.rename-index': 'POST /v2/search/{id}/rename answers OK',
    '4.2.rename-index.path.id': 'the index',
    '4.2.rename-index.body.name': 'its new name',
    '4.2.transfer-index': 'POST /v2/search/{id}/transfer answers OK',
    '4.2.transfer-index.path.id': 'the index',
    '4.2.transfer-index.body.target_account': 'its new owner',
  }),
  ...proven(SERVER, '%s', {
    '5.message': ['the message API takes a bearer token and nothing else', "'a scheme of the other API'"],
    '5.management': [
      'the management API takes the base64 of username:password and nothing else',
      "'a token at the management API'",
    ],
  }),
  ...proven('conformance-resources.test.ts', 'the record of a %s index in %s has the fields of the interface', {
    '5.index': 'an index has tokens of its own',
  }),
  ...proven(
    'signature.test.ts',
    'callbacks, runs and messages without a body are signed too, with the names of the installation',
    {
      '5.signature': 'callbacks carry a signature that the receiver can verify',
    },
  ),
  ...proven(SERVER, 'any input gets a response: a success, or a 4xx with an error in JSON', {
    '7.error': 'errors are JSON with a text in error',
  }),
  ...proven('conformance-errors.test.ts', 'of %s %s is JSON with its reason in error', {
    '7.error.publish': ['publish', "'/v2/publish/http://a.example/'"],
    '7.error.trigger': ['trigger', "'/v2/trigger/http://a.example/'"],
    '7.error.list-runs': ['list of failed runs', "'/v2/workflows/dlq?count=0'"],
    '7.error.resume-runs': ['resume', "'/v2/workflows/dlq/resume?fromDate=x'"],
    '7.error.delete-runs': ['deletion of runs', "'/v2/workflows/dlq?cursor=x'"],
    '7.error.get-key': ['flow-control key', "'/v2/flowControl/none'"],
  }),
  settled(
    open(
      '7.status',
      'statuses of errors and their conditions',
      'not shown: 400, 401, 403, 404, 405, 413 with the reason',
    ),
    SERVER,
    '%s %s answers %d',
  ),
  settled(
    open('7.budget', 'a budget outside its range', 'not shown: 400 and nothing changes'),
    ROUTES,
    'budget %j is rejected',
  ),
  ...proven('conformance-resources.test.ts', 'a publish result has the fields of the interface', {
    '7.duplicate': 'a duplicate is no error: 200',
  }),
  ...proven('conformance-listing.test.ts', 'logs: 100 unless fewer are requested', {
    '8.count.logs': 'a page of logs has 100 entries at most, and by default',
  }),
  ...proven('conformance-listing.test.ts', 'failed runs: 100 unless fewer are requested', {
    '8.count.runs': 'a page of failed runs has 100 entries at most, and by default',
  }),
  ...proven('conformance-listing.test.ts', 'deleting messages: 100 at once, and no more than requested', {
    '8.count.dlq': 'a deletion takes 100 messages at most, and by default',
  }),
  settled(
    open('8.count.above', 'a count above 100', 'rejected or clamped, not shown: switch countAboveMaximum'),
    'log-routes.test.ts',
    'switches change what is open in the interface',
  ),
  ...proven(
    'conformance-publish.test.ts',
    'a duplicate does not extend the window, and one by content has the same window',
    {
      '8.window': 'ten minutes of de-duplication',
    },
  ),
  ...proven('conformance-publish.test.ts', 'plan %s, retries %s: %d deliveries', {
    '8.retries.publish': 'three retries on the free plan, five on paid ones',
  }),
  ...proven('dead-letters.test.ts', 'has three retries on every plan', {
    '8.retries.trigger': 'three retries of a run',
  }),
  ...proven(LIMITS, 'a body larger than the largest message', {
    '8.limit.max_message_size': 'a larger body is rejected',
  }),
  ...proven('request-limits.test.ts', 'beyond the soft limit messages are accepted, and the remaining number is 0', {
    '8.limit.max_requests_per_day': 'a soft limit: reported, and nothing is rejected',
  }),
  ...proven('request-limits.test.ts', 'a day has a limit of messages; reads continue, and midnight resets it', {
    '8.limit.max_requests_per_day_hard': 'a hard limit: 429',
  }),
  ...proven('request-limits.test.ts', 'a second has a limit of requests, and the next one has the same', {
    '8.limit.max_requests_per_second': 'more are rejected: 429',
  }),
  ...proven(LIMITS, 'one URL Group more, and one endpoint more', {
    '8.limit.max_topics': 'one group more is rejected',
    '8.limit.max_endpoints_per_topic': 'one endpoint more is rejected',
  }),
  ...proven(LIMITS, 'a full DLQ keeps the newest, and a smaller plan keeps fewer', {
    '8.limit.max_dlq_size': 'the newest are kept',
  }),
  ...proven(LIMITS, "logs and dead letters are kept for the plan's retention", {
    '8.limit.max_dlq_retention_time_milis': 'older entries leave',
  }),
  ...proven(LIMITS, '%s', {
    '8.limit.max_retries': ['more retries are refused', "'retries'"],
    '8.limit.max_delay': ['a longer delay is refused', "'a delay'"],
  }),
  ...proven(LIMITS, "the plan's timeout is the maximum", {
    '8.limit.timeout': 'a longer timeout is shortened',
  }),
  ...proven(DELIVERIES, "the paid plan's hundred to one URL delay neither another URL nor a message with a key", {
    '8.limit.max_parallelism': 'more to one URL wait',
  }),
  ...proven(
    DELIVERIES,
    "the free plan's ten concurrent deliveries to all URLs; the next begin as those end, or as the plan grows",
    { '8.limit.max_global_parallelism': 'more to all URLs wait' },
  ),
  ...proven(DELIVERIES, 'deliveries beyond the bytes of a second wait for the next second', {
    '8.limit.max_bandwidth_per_second': 'more bytes wait',
  }),
  ...['max_schedules', 'max_queues', 'max_events_size'].map((name) =>
    open(`8.limit.${name}`, `${name} is enforced`, 'no operation of the interface makes what it limits: told only'),
  ),
  ...proven(ROUTES, 'a free index has finite limits, a paid one is unlimited where the interface says so', {
    '8.index-limits': 'index limits are told, -1 for none',
  }),
  open('8.index-enforced', 'whether index limits hold', "the index's own API is not part of the interface: told only"),
  ...proven('publish.test.ts', 'on the %s plan, of a response of %d bytes they carry %d', {
    '8.truncated': "bodies of answers are cut in callbacks beyond the plan's largest message",
  }),
  settled(
    open('8.timeout', "the plan's default timeout", 'not shown: 15 minutes on the free plan, two hours on others'),
    'publish.test.ts',
    "a timeout shortens the plan's and never extends it",
  ),
  open('8.values', "each plan's values of the limits", 'not shown: of the size that such services have'),
];
