/**
 * The service's own headers of every operation, without the prefix (`Svc-`). The request reader
 * (`http/service-headers.ts`) takes names and kinds from here, and the OpenAPI document is generated from here.
 */

export interface HeaderParameter {
  /** `forward`: every header with the prefix `<name>-` is forwarded without that prefix. */
  readonly kind:
    | 'text'
    | 'integer'
    | 'boolean'
    | 'duration'
    | 'method'
    | 'url'
    | 'expression'
    | 'list'
    | 'flow-control'
    | 'forward';
  readonly description: string;
  /** Maximum of an integer. */
  readonly maximum?: number;
  /** Pattern of a whole list. */
  readonly pattern?: string;
}

export type HeaderTable = Readonly<Record<string, HeaderParameter>>;

const header = (kind: HeaderParameter['kind'], description: string): HeaderParameter => ({ kind, description });

const EXPRESSION =
  'Milliseconds before each retry: numbers, + - * / and parentheses, retried (0 for the first retry), pow, exp, sqrt, ' +
  'abs, floor, ceil, round, min, max. Default: min(86400, e^(2.5 n)) seconds.';

const retryDelay = header('expression', EXPRESSION);
const delay = header('duration', 'Delay before delivery.');
const labels = header('list', 'Comma-separated labels, shown in logs and DLQ.');

/** Maximum in Unix seconds. A larger number is a time in milliseconds. */
export const LATEST_NOT_BEFORE = 100_000_000_000;

const schedule: HeaderTable = {
  Delay: delay,
  'Not-Before': {
    ...header('integer', 'Earliest delivery, in Unix seconds. Takes precedence over the delay.'),
    maximum: LATEST_NOT_BEFORE,
  },
};

const REDACTED = "\\s*((body|headers|header\\[ *[\\w!#$%&'*+.^`|~-]+ *\\])\\s*)?";

const flowControl: HeaderTable = {
  'Flow-Control-Key': header('text', 'Flow-control key; needs the value.'),
  'Flow-Control-Value': header(
    'flow-control',
    'parallelism=<value>, rate=<value>, period=<value>, each at most once; needs the key, and a parallelism or a rate, and a period needs a rate.',
  ),
};

const forward = header('forward', 'Forwarded to the destination without the prefix.');

/** @param group `Callback` or `Failure-Callback` */
function callback(group: string, description: string): HeaderTable {
  return {
    [group]: header('url', description),
    [`${group}-Forward`]: header('forward', 'Forwarded to the callback without the prefix.'),
    [`${group}-Method`]: header('method', 'HTTP method of the callback; default POST.'),
    [`${group}-Timeout`]: header('duration', 'Maximum duration of a callback request, above 0.'),
    [`${group}-Retries`]: header('integer', 'Retries of the callback; default: those of the message.'),
    [`${group}-Retry-Delay`]: header('expression', EXPRESSION),
    [`${group}-Delay`]: header('duration', 'Delay before the callback.'),
  };
}

/** Headers by operation. Operations that are not listed have none. */
export const HEADER_PARAMETERS = {
  publish: {
    Method: header('method', 'HTTP method towards the destination; default POST.'),
    Timeout: header('duration', 'Maximum duration of a request, above 0; shortens the default of the plan.'),
    Retries: header('integer', 'Retries after a failure; default by plan: free 3, paid 5.'),
    'Retry-Delay': retryDelay,
    ...schedule,
    Label: labels,
    ...flowControl,
    'Deduplication-Id': header('text', 'A message with the same id within 10 minutes is not sent again.'),
    'Content-Based-Deduplication': header('boolean', 'A hash of the body is the de-duplication id; default false.'),
    'Redact-Fields': {
      ...header('list', 'body, headers, header[<name>]: shown as REDACTED:<SHA256>, and delivered unchanged.'),
      pattern: `^${REDACTED}(,${REDACTED})*$`,
    },
    Forward: forward,
    ...callback('Callback', 'URL to call after each delivery attempt.'),
    ...callback('Failure-Callback', 'URL to call when the retries are exhausted.'),
  },
  trigger: {
    'Workflow-RunId': header('text', 'Id of the run; random when absent.'),
    Retries: header('integer', 'Retries of the workflow; default 3.'),
    'Retry-Delay': retryDelay,
    ...schedule,
    Label: labels,
    ...flowControl,
    Forward: forward,
    'Failure-Callback': header('url', 'URL to call when the retries are exhausted.'),
    'Failure-Callback-Forward': header('forward', 'Forwarded to the failure callback without the prefix.'),
  },
  'resume-workflow-dlq': {
    Retries: header('integer', 'Retries of the resumed run.'),
    'Retry-Delay': retryDelay,
    Delay: delay,
    Label: labels,
    ...flowControl,
    'Failure-Callback': header('url', 'URL to call when the retries are exhausted.'),
  },
} as const satisfies Readonly<Record<string, HeaderTable>>;
