/** The service as seen from outside: plain requests, without the project's client. */

export interface Service {
  readonly url: string;
  readonly token: string;
}

export interface LogRow {
  readonly time: number;
  readonly messageId: string;
  readonly state: string;
  readonly url: string;
  readonly topicName?: string;
  readonly queueName?: string;
  readonly labels?: readonly string[];
  readonly nextDeliveryTime?: number;
  readonly responseStatus?: number;
  readonly error?: string;
}

export interface FailedRun {
  readonly dlqId: string;
  readonly workflowRunId: string;
  /** Epoch milliseconds of the failure. */
  readonly createdAt: number;
  readonly labels?: readonly string[];
}

export const TEST_TOKEN = 'test-token';

type Headers = Readonly<Record<string, string>>;

interface CallInit {
  readonly headers?: Headers;
  readonly body?: string;
}

async function call(service: Service, method: string, path: string, init: CallInit = {}): Promise<unknown> {
  const response = await fetch(`${service.url}${path}`, {
    ...init,
    method,
    headers: { authorization: `Bearer ${service.token}`, ...init.headers },
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return text === '' ? undefined : (JSON.parse(text) as unknown);
}

/** Returns all pages of a listing, in the order of the service. */
async function pages<T>(service: Service, path: string, rows: (page: Record<string, T[]>) => T[]): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | undefined;
  do {
    const more = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page = (await call(service, 'GET', `${path}${more}`)) as Record<string, T[]> & { cursor?: string };
    all.push(...rows(page));
    cursor = page.cursor;
  } while (cursor !== undefined && cursor !== '');
  return all;
}

/** Returns entries of the log up to a time (epoch milliseconds, inclusive). */
export function logsUntil(service: Service, toDate: number): Promise<LogRow[]> {
  // Of a million rows only the read fields are kept.
  return pages<LogRow>(service, `/v2/logs?toDate=${toDate}`, (page) => page['logs']!.map(slim));
}

const FIELDS = 'time messageId state url topicName queueName labels nextDeliveryTime responseStatus error'.split(' ');

function slim(row: LogRow): LogRow {
  return Object.fromEntries(Object.entries(row).filter(([field]) => FIELDS.includes(field))) as unknown as LogRow;
}

export function failedRuns(service: Service): Promise<FailedRun[]> {
  return pages<FailedRun>(service, '/v2/workflows/dlq?count=100', (page) => page['messages']!);
}

/** @returns the message's id; of a group's messages the first one's */
export async function publish(service: Service, destination: string, headers: Headers = {}): Promise<string> {
  const answer = await call(service, 'POST', `/v2/publish/${destination}`, { headers, body: '{}' });
  return [answer as { messageId: string }].flat()[0]!.messageId;
}

export async function putEndpoints(
  service: Service,
  group: string,
  endpoints: readonly { readonly name: string; readonly url: string }[],
): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  await call(service, 'POST', `/v2/topics/${group}/endpoints`, { headers, body: JSON.stringify({ endpoints }) });
}

/** @returns the run's id */
export async function trigger(service: Service, workflowUrl: string, headers: Headers = {}): Promise<string> {
  const answer = await call(service, 'POST', `/v2/trigger/${workflowUrl}`, { headers, body: '{}' });
  return (answer as { workflowRunId: string }).workflowRunId;
}

/** Deletes failed runs as another client than the daemon. */
export async function removeRuns(service: Service, dlqIds: readonly string[]): Promise<void> {
  await call(service, 'DELETE', `/v2/workflows/dlq?dlqIds=${dlqIds.join(',')}`);
}
