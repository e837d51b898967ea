/** Rows of the conformance table for known behavior beyond the interface, and for open points. */
import { open, proven, settled, type Row } from './conformance-row.ts';

const DELIVERY = 'delivery.test.ts';
const DEAD = 'dead-letters.test.ts';
const PUBLISH = 'publish.test.ts';
const MONTH = 'conformance-month.test.ts';

/** Builds the rows of open points by their switch. The test of the switch probes each of its values. */
function switched(rows: Readonly<Record<string, readonly [statement: string, name: string]>>): readonly Row[] {
  return Object.entries(rows).map(([id, [statement, name]]) =>
    settled(open(id, statement, `switch ${name}`), 'switches.test.ts', '%s: %s', `${name}: [`),
  );
}

export const BEHAVIOUR_ROWS: readonly Row[] = [
  ...switched({
    'B.play.state': ['log entries with or without state', 'logState'],
    'B.play.end': ['no cursor or an empty one at the end', 'endCursor'],
    'B.play.order': ['newest or oldest first', 'logOrder'],
    'B.play.dlq-order': ['oldest or newest failures first', 'dlqOrder'],
    'B.play.group': ['publish to a group as array or object', 'groupPublish'],
    'B.play.duplicate': ['a duplicate is 200 or 202', 'duplicateStatus'],
    'B.play.unknown': ['unknown filters rejected or ignored', 'unknownFilter'],
    'B.play.run-ids': ['resumed runs keep or renew their ids', 'resumeRunIds'],
    'B.play.labels': ['labels of a resume replace or add', 'labelOverride'],
    'B.play.spelling': ['CANCELLED or CANCELED', 'canceledSpelling'],
    'B.play.failure-state': ['failureFunctionState or failureCallbackInfo', 'failureState'],
    'B.play.limits': ['rate-limit headers of the second, of the day, or both', 'rateLimitHeaders'],
    'B.play.count': ['a count above 100 rejected or clamped', 'countAboveMaximum'],
    'B.play.dlq-count': ['failed runs included in the count of the DLQ, or not', 'dlqMessageCount'],
    'B.play.private': ['private destinations allowed or rejected', 'privateDestinations'],
    'B.play.signature-time': ['signatures in real or virtual time', 'signatureTime'],
    'B.play.failure-function': ['a failure function of workflows, or none', 'failureFunction'],
    'B.play.transitions': ['an entry for each transition, or one for each message', 'logEntries'],
    'B.play.time': ['with one entry for each message: its time is the creation, or not', 'logEntries'],
    'B.play.digits': ['none to nine digits of a second in points', 'pointFractionDigits'],
  }),
  ...proven('faults.test.ts', 'entries and points that come late, twice, or never', {
    'B.play.late': 'late, duplicate and missing entries',
  }),
  ...proven('faults.test.ts', 'points of statistics are rows like log entries', {
    'B.play.late-points': 'late, duplicate and missing points',
  }),
  ...proven(
    'faults.test.ts',
    'entries that appear after younger ones: the same ones at each poll, until they are old enough',
    { 'B.play.late-later': 'entries that come later than younger ones' },
  ),
  ...proven(
    'faults.test.ts',
    'entries that repeat: on the next page, at the next poll, never outside of the requested window',
    { 'B.play.duplicate-later': 'entries that come again on another page, or at another poll' },
  ),
  ...proven('wire.test.ts', 'bytes that are not text are encoded in base64', {
    'B.read.base64': 'bodies that are no text',
  }),
  ...proven('management-routes.test.ts', 'another brand appears in paths, plan names and fields', {
    'B.wire.product': 'the product is a setting: paths, plans, fields',
  }),
  ...proven(PUBLISH, 'another header prefix is another header', { 'B.wire.prefix': 'the header prefix is a setting' }),
  ...proven(DELIVERY, 'an expression and a Retry-After set the delay', {
    'B.deliver.milliseconds': 'expressions give milliseconds',
    'B.deliver.retry-after': 'Retry-After of a destination is honoured',
  }),
  ...proven(
    MONTH,
    'with the default backoff run over 12 s, 2 m 28 s, 30 m, 6 h and a day, then enter the DLQ for its retention',
    {
      'B.deliver.back-off': 'the default back-off, capped at a day',
    },
  ),
  ...proven(MONTH, 'a Retry-After is honored up to a day', { 'B.deliver.retry-after-cap': 'up to a day' }),
  ...proven(
    DELIVERY,
    'carries method, body, content type, forwarded headers, id and retry count; the URL is unchanged',
    { 'B.deliver.headers': 'message id and retries so far arrive' },
  ),
  ...proven('signature.test.ts', 'names issuer, destination, time and content, with another id for each attempt', {
    'B.deliver.signature': 'issuer, subject, expiry, not-before, id, hash of the body',
  }),
  ...proven(DELIVERY, '%s: %o', {
    'B.deliver.non-retryable': ['489 with its header goes straight to the DLQ', "'489 and the header'"],
  }),
  ...proven('conformance-publish.test.ts', 'are billed as messages and counted as deliveries', {
    'B.deliver.billed': 'each attempt is one billed message, callbacks too',
  }),
  ...proven(
    'conformance-properties.test.ts',
    'errors = retries + failures, messages = delivered + errors, and each message has one outcome',
    { 'B.sums': 'the two invariants of the statistics' },
  ),
  ...proven(DEAD, 'delivers the whole run again under a new run id, with its settings', {
    'B.act.new-run': 'a resumed run has a new id; the answer has no dlqId',
  }),
  ...proven(MONTH, 'a run that is resumed each day fails each day under new ids, and finally succeeds', {
    'B.act.lineage': 'what fails again comes back under a new dlqId and run id',
  }),
  ...proven(DEAD, 'with no filter ("%s") everything is resumed', {
    'B.act.no-filter': 'a bulk call with no filter means everything',
    'B.act.no-ids': 'empty dlqIds are no filter',
  }),
  ...proven(
    'budget.test.ts',
    'fails due deliveries permanently: runs enter the DLQ, and can be resumed with a new budget',
    {
      'B.act.quota': 'when the quota is exhausted deliveries fail and runs fall into the DLQ',
    },
  ),
  ...proven('server.test.ts', 'a rotated token stops at once, and the new one works', {
    'B.act.rotation': 'the old token stops working at once',
  }),
  ...proven('request-limits.test.ts', 'a second has a limit of requests, and the next one has the same', {
    'B.read.limits': 'reads are limited by the second too',
  }),
  ...proven('limits.test.ts', "logs and dead letters are kept for the plan's retention", {
    'B.read.retention': 'logs and dead letters expire in silence, by plan',
  }),
];
