/**
 * The service's own headers of every operation, without the prefix (`Svc-`), as requests are read. `openapi.yaml`
 * describes them; a test compares both.
 */

export type HeaderKind =
  | 'text'
  | 'integer'
  | 'boolean'
  | 'duration'
  | 'method'
  | 'url'
  | 'expression'
  | 'list'
  | 'flow-control'
  /** Every header with the prefix `<name>-` is forwarded without that prefix. */
  | 'forward';

export type HeaderTable = Readonly<Record<string, HeaderKind>>;

/** Maximum in Unix seconds. A larger number is a time in milliseconds. */
export const LATEST_NOT_BEFORE = 100_000_000_000;

const retries: HeaderTable = { Retries: 'integer', 'Retry-Delay': 'expression' };
const schedule: HeaderTable = { Delay: 'duration', 'Not-Before': 'integer' };
const flowControl: HeaderTable = { 'Flow-Control-Key': 'text', 'Flow-Control-Value': 'flow-control' };

/** @param group `Callback` or `Failure-Callback` */
function callback(group: string): HeaderTable {
  return {
    [group]: 'url',
    [`${group}-Forward`]: 'forward',
    [`${group}-Method`]: 'method',
    [`${group}-Timeout`]: 'duration',
    [`${group}-Retries`]: 'integer',
    [`${group}-Retry-Delay`]: 'expression',
    [`${group}-Delay`]: 'duration',
  };
}

/** Headers by operation. Operations that are not listed have none. */
export const HEADER_PARAMETERS = {
  publish: {
    Method: 'method',
    Timeout: 'duration',
    ...retries,
    ...schedule,
    Label: 'list',
    ...flowControl,
    'Deduplication-Id': 'text',
    'Content-Based-Deduplication': 'boolean',
    'Redact-Fields': 'list',
    Forward: 'forward',
    ...callback('Callback'),
    ...callback('Failure-Callback'),
  },
  trigger: {
    'Workflow-RunId': 'text',
    ...retries,
    ...schedule,
    Label: 'list',
    ...flowControl,
    Forward: 'forward',
    'Failure-Callback': 'url',
    'Failure-Callback-Forward': 'forward',
  },
  'resume-workflow-dlq': {
    ...retries,
    Delay: 'duration',
    Label: 'list',
    ...flowControl,
    'Failure-Callback': 'url',
  },
} as const satisfies Readonly<Record<string, HeaderTable>>;
