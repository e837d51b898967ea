/** Rows of the conformance table for section 6, callbacks. */
import { open, proven, settled, type Row } from './conformance-row.ts';

const HEADERS = 'conformance-publish.test.ts';
const PUBLISH = 'publish.test.ts';

const EXACT = 'report each attempt, and the final failure, with the body of the interface';
const EACH = 'follow each attempt until a 2xx; retried counts up and no failure is reported';
const GROUP = 'report group and endpoint, a later delivery, and original bytes and header values';

export const EVENT_ROWS: readonly Row[] = [
  ...proven(HEADERS, EACH, {
    '6.callback': 'after each attempt, until a 2xx or until retries are exhausted',
    '6.body.retried': 'retries made so far',
    '6.body.maxRetries': 'retries at most',
  }),
  ...proven(PUBLISH, EXACT, {
    '6.exhausted': 'retried = maxRetries is the end',
    '6.failure-callback': 'once, when retries are exhausted',
    '6.both': 'a callback and a failure callback together',
    '6.json': 'the body is a JSON object',
    '6.body.status': "status of the destination's answer",
    '6.body.dlqId': 'of failure callbacks only: the entry in the DLQ',
    '6.body.sourceMessageId': 'the message it tells of',
    '6.body.url': 'destination of that message',
    '6.body.method': 'HTTP method of that message',
    '6.body.callerIP': 'address that published it',
  }),
  ...proven('conformance-every.test.ts', 'names the entry of the DLQ, and that id removes the entry', {
    '6.dlq-id-removes': 'by its dlqId the message is removed from the DLQ',
  }),
  ...proven(PUBLISH, 'a delivered message has no failure callback, and no response is a status of 0', {
    '6.failure-only': 'no failure callback for what was delivered',
  }),
  settled(
    open('6.no-answer', 'the status when there was no answer', 'not shown: 0'),
    PUBLISH,
    'a delivered message has no failure callback, and no response is a status of 0',
  ),
  ...proven(HEADERS, 'are billed as messages and counted as deliveries', {
    '6.charged': 'a callback is a message of its own, and charged',
  }),
  ...proven(PUBLISH, "a callback that fails uses the original's retries unless it has its own", {
    '6.retries': 'retries of the original unless its own are given',
  }),
  ...proven(HEADERS, GROUP, {
    '6.body.header': 'headers of the answer, arrays of texts',
    '6.body.body': 'body of the answer in base64',
    '6.body.topicName': 'the group, when there is one',
    '6.body.endpointName': 'the endpoint, when it has a name',
    '6.body.sourceHeader': 'headers of the message, texts',
    '6.body.sourceBody': 'body of the message in base64',
    '6.body.notBefore': 'when it was to be delivered, milliseconds as a text',
    '6.body.createdAt': 'when it was published, milliseconds as a text',
  }),
  ...proven('conformance-origins.test.ts', 'a callback names the schedule', {
    '6.body.scheduleId': 'the schedule, when there is one',
  }),
  ...proven(HEADERS, '%s-%s: %s', {
    '6.settings': ['Timeout, Retries, Delay, Retry-Delay and Method by prefix', "['Retry-Delay', '7000'"],
  }),
  ...proven(HEADERS, '%s-Delay delays it, and its own headers are forwarded', {
    '6.forward': 'headers forwarded by prefix',
  }),
  settled(
    open('6.signature', 'scheme of the signature', 'not shown: an HS256 JWT over the hash of the body'),
    'signature.test.ts',
    'names issuer, destination, time and content, with another id for each attempt',
  ),
  open('6.others', 'other kinds of events', 'not shown: there are none'),
];
