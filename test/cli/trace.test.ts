/** `opsd trace`: computable ids, and the trace from the service's log. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { httpSink } from '../support/http-sink.ts';
import { tempDir } from '../support/temp-dir.ts';
import { opsd } from './terminal.ts';

const AT = Date.UTC(2026, 10, 18, 10, 0, 0);
const TRACE_ID = '04a17600d5dbeacdae4de8c05175adfa';
const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

type Row = Readonly<Record<string, unknown>>;

const row = (offset: number, state: string, more: Row = {}): Row => ({
  time: AT + offset,
  messageId: 'msg_1',
  state,
  url: 'https://user:pass@hooks.example/in?token=hush',
  ...more,
});

const DELIVERED: readonly Row[] = [
  row(0, 'CREATED', { header: { 'Svc-Forward-Traceparent': [PARENT] }, workflowRunId: 'wfr_9' }),
  row(20, 'ACTIVE'),
  row(1_520, 'ERROR', { responseStatus: 503, nextDeliveryTime: AT + 11_000 }),
  row(1_520, 'RETRY'),
  row(11_300, 'ACTIVE'),
  row(11_500, 'DELIVERED', { responseStatus: 200 }),
];

/** Starts a service whose log has these entries, two to a page. Returns a configuration for it. */
async function logOf(rows: readonly Row[], more = '', dlq: readonly Row[] = []): Promise<string> {
  const service = await httpSink((request, response) => {
    const { pathname, searchParams: query } = new URL(request.url, 'http://x');
    response.setHeader('content-type', 'application/json');
    if (pathname === '/v2/workflows/dlq') {
      const run = query.get('workflowRunId');
      response.end(JSON.stringify({ messages: dlq.filter((one) => run === null || one['workflowRunId'] === run) }));
      return;
    }
    const state = query.get('state');
    const wanted = (key: string, row: Row) => !query.has(key) || row[key] === query.get(key);
    const found = rows.filter((row) => wanted('messageId', row) && wanted('url', row));
    const filtered = state === null ? found : found.filter((row) => (row['state'] ?? row['hidden']) === state);
    const from = Number(query.get('cursor') ?? 0);
    const logs = filtered.slice(from, from + 2).map(({ hidden: _hidden, ...row }) => row);
    response.end(JSON.stringify({ logs, ...(from + 2 < filtered.length && { cursor: String(from + 2) }) }));
  });
  const path = join(tempDir(), 'opsd.yaml');
  writeFileSync(path, `accounts: [{ name: production, url: "${service.url}", token: canary-token }${more}]\n`);
  return path;
}

describe('trace id', () => {
  test('is computed from account and message, without a request', async () => {
    expect(await opsd(['trace', 'id', 'msg_1', '--account', 'production'])).toEqual({
      code: 0,
      stdout: `${TRACE_ID}\n`,
      stderr: '',
    });
    const { stdout } = await opsd(['trace', 'id', 'msg_1', '--account=production', '-o', 'json']);
    expect(JSON.parse(stdout)).toEqual({
      account: 'production',
      messageId: 'msg_1',
      traceId: TRACE_ID,
      spanId: '599cd844c6ed473f',
    });
  });

  test('takes the account from the configuration if it has only one', async () => {
    const one = await logOf([]);
    expect(await opsd(['trace', 'id', 'msg_1', '-c', one])).toMatchObject({ code: 0, stdout: `${TRACE_ID}\n` });
    const two = await logOf([], ', { name: staging, url: "http://127.0.0.1:9", token: t }');
    expect(await opsd(['trace', 'id', 'msg_1', '-c', two])).toMatchObject({
      code: 64,
      stdout: '',
      stderr: expect.stringContaining('one of: production, staging') as string,
    });
  });

  test('of a workflow run is another', async () => {
    const { stdout } = await opsd(['trace', 'id', 'wfr_1', '--workflow', '--account=production']);
    expect(stdout).toMatch(/^[0-9a-f]{32}\n$/);
    expect(stdout).not.toBe((await opsd(['trace', 'id', 'wfr_1', '--account=production'])).stdout);
  });
});

describe('trace show', () => {
  test('prints the events as a tree, without secrets', async () => {
    const { code, stdout, stderr } = await opsd(['trace', 'show', 'msg_1', '-c', await logOf(DELIVERED)]);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toBe(`trace ${TRACE_ID}
message msg_1 of account production, created 2026-11-18T10:00:00.000Z
not sent: not sampled, and neither failed nor slow

deliver hooks.example           11.5 s  delivered, 2 attempts
├─ wait (queue)          +0 ms   20 ms
├─ POST                 +20 ms   1.5 s  503
├─ wait (retry)         +1.5 s   9.8 s
└─ POST                +11.3 s  200 ms  200
producer: trace 4bf92f3577b34da6a3ce929d0e0e4736
workflow run: trace 6043134f7ae24cd16525f9c1b4cffec1
`);
  });

  test('gives the spans as JSON', async () => {
    const { stdout } = await opsd(['trace', 'show', 'msg_1', '-c', await logOf(DELIVERED), '-o', 'json']);
    expect(stdout).not.toMatch(/hush|pass|canary/);
    expect(JSON.parse(stdout)).toMatchObject({
      account: 'production',
      messageId: 'msg_1',
      isOpen: false,
      isSent: false,
      spans: [
        { traceId: TRACE_ID, start: '2026-11-18T10:00:00.000Z', end: '2026-11-18T10:00:11.500Z' },
        { kind: 'producer' },
        { name: 'step hooks.example' },
        { name: 'wait (queue)' },
        { name: 'POST', attributes: { 'http.response.status_code': 503 } },
        { name: 'wait (retry)' },
        { name: 'POST', attributes: { 'http.request.resend_count': 1 } },
      ],
    });
  });

  test('reports that a message is still open, and that a failed one was sent', async () => {
    const open = await opsd(['trace', 'show', 'msg_1', '-c', await logOf(DELIVERED.slice(0, 4))]);
    expect(open.stdout).toContain('still open');
    const failed = [row(0, 'CREATED'), row(5, 'ACTIVE'), row(9, 'ERROR', { error: 'connect ECONNREFUSED' })];
    const { stdout } = await opsd(['trace', 'show', 'msg_1', '-c', await logOf(failed)]);
    expect(stdout).toContain('sent to the trace receiver');
    expect(stdout).toMatch(/POST .* connection/);
  });

  test.each(['wfr_9', 'dlq_1'])('prints the messages of a failed run, by %s', async (id) => {
    const url = 'https://app.example/w';
    const step = (messageId: string, offset: number, workflowRunId: string): readonly Row[] => [
      row(offset, 'CREATED', { messageId, url, workflowRunId }),
      row(offset + 5, 'ERROR', { messageId, url, workflowRunId, responseStatus: 500 }),
    ];
    const rows = [...step('msg_2', 900, 'wfr_9'), ...step('msg_3', 500, 'wfr_8'), ...step('msg_1', 100, 'wfr_9')];
    const dlq = [{ dlqId: 'dlq_1', workflowRunId: 'wfr_9', workflowUrl: url, createdAt: AT + 2_000 }];
    const config = await logOf(rows, '', dlq);
    const { code, stdout, stderr } = await opsd(['trace', 'show', id, '-c', config]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('failed run wfr_9 of account production, entry dlq_1; its messages in the log: 2\n');
    expect(stdout.match(/^message \w+/gm)).toEqual(['message msg_1', 'message msg_2']);
    const json = await opsd(['trace', 'show', id, '-c', config, '-o', 'json']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      workflowRunId: 'wfr_9',
      dlqId: 'dlq_1',
      traceId: stdout.slice('trace '.length, stdout.indexOf('\n')),
      messages: [{ messageId: 'msg_1', isOpen: false }, { messageId: 'msg_2' }],
    });
  });

  test('takes the states from the filters if entries have none', async () => {
    const hidden = DELIVERED.map(({ state, ...rest }) => ({ ...rest, hidden: state }));
    const { stdout } = await opsd(['trace', 'show', 'msg_1', '-c', await logOf(hidden)]);
    expect(stdout).toContain('delivered, 2 attempts');
  });

  test('says that the log has one entry for each message', async () => {
    const { stdout } = await opsd(['trace', 'show', 'msg_1', '-c', await logOf([row(9, 'DELIVERED')])]);
    expect(stdout).toContain('the log has one entry for each message');
  });

  test('fails clearly for a message that is not in the log, and a service that does not respond', async () => {
    const config = await logOf(DELIVERED);
    expect(await opsd(['trace', 'show', 'msg_2', '-c', config])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('no message in its log and no failed workflow run msg_2') as string,
    });
  });
});
