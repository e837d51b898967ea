/** `opsd messages list` and `opsd messages show`, against a real server over a scripted log. */
import { expect, test } from 'vitest';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { LiveReads, type LogApi } from '#operate/api/live-reads.ts';
import type { LogQuery } from '#service/api.ts';
import { ServiceError } from '#service/service-error.ts';
import { action, ledger, NOW, proposal, serving, world } from '../operate/http/world.ts';
import { opsd } from './terminal.ts';

const HOSTILE = 'no\u001B[2J route\u202e\n<b>';

function entry(messageId: string, at: number, state: LogEntry['state'], more: Partial<LogEntry> = {}): LogEntry {
  return { messageId, time: NOW + at, labels: [], ...(state !== undefined && { state }), ...more };
}

/** Runs a command against a daemon with this log. */
async function run(log: readonly LogEntry[] | Error, args: readonly string[]) {
  const queries: LogQuery[] = [];
  const api: LogApi = {
    async listLogs(query) {
      queries.push(query);
      if (log instanceof Error) throw log;
      const matching = log.filter(({ messageId }) => query.messageId === undefined || messageId === query.messageId);
      const from = Number(query.cursor ?? 0);
      const to = from + query.count!;
      return { value: matching.slice(from, to), dropped: 0, ...(to < matching.length && { cursor: String(to) }) };
    },
    listWorkflowDlq: () => Promise.resolve({ value: [], dropped: 0 }),
  };
  const clock = new ManualClock(NOW);
  const resume = action({ id: 7, at: NOW + 4_000, outcome: 'verified', proposal: proposal({ workflowRunId: 'r' }) });
  const deps = world({
    accounts: [{ name: 'production' }],
    liveReads: new LiveReads({ clock, messageApi: () => api, usage: () => undefined }),
    ledger: ledger({ actionsOn: async (_account, ids) => ([...ids].includes('r') ? [resume] : []) }),
  });
  const { address } = await serving(deps);
  return { queries, ...(await opsd(['messages', ...args], { env: { OPSD_URL: address } })) };
}

const LOG = [
  entry('msg_1', -60_000, 'ERROR', { url: 'https://a.example/hook', responseStatus: 503, error: HOSTILE }),
  entry('msg_1', -61_000, 'ACTIVE'),
  entry('msg_2', -3_600_000, undefined, { topicName: 'orders', labels: ['x', 'y'] }),
];

test('the table has one row a message', async () => {
  const { code, stdout, stderr } = await run(LOG, ['list']);
  expect(stdout).toBe(`\
MESSAGE  STATE      AGE  STATUS  DESTINATION             ERROR
msg_1    ERROR    1 min     503  https://a.example/hook  no\\x1b[2J route\\u202e\\x0a<b>
msg_2    unknown    1 h       –  orders
`);
  expect([code, stderr]).toEqual([0, '']);
});

test('all filters reach the service, and several pages are one list', async () => {
  const filters =
    '--account production --state ERROR --label a --label b --destination https://a.example --topic-name t ' +
    '--queue-name q --schedule-id s --message-id msg_1 --since 2h --to-date 1h --limit 30';
  const { queries } = await run(LOG, ['list', ...filters.split(' ')]);
  expect(queries[0]).toMatchObject({
    state: 'ERROR',
    label: ['a', 'b'],
    url: 'https://a.example',
    topicName: 't',
    queueName: 'q',
    scheduleId: 's',
    messageId: 'msg_1',
    count: 15,
  });
  expect(queries[0]!.toDate! - queries[0]!.fromDate!).toBe(3_600_000);

  const many = Array.from({ length: 250 }, (_, at) => entry(`m${at}`, -at, 'ERROR'));
  const listed = await run(many, ['list', '--limit', '230', '-o', 'name']);
  expect(listed.stdout.trim().split('\n')).toEqual(many.slice(0, 230).map(({ messageId }) => messageId));
});

test('json is the response of the API, and an empty list says what would fill it', async () => {
  const { stdout } = await run(LOG, ['list', '-o', 'json']);
  expect(JSON.parse(stdout)).toMatchObject({ messages: [{ messageId: 'msg_1' }, { messageId: 'msg_2' }] });
  expect(await run([], ['list'])).toMatchObject({
    code: 0,
    stdout: '',
    stderr: 'No message in the log matches. The service keeps its log for days to weeks.\n',
  });
});

test('a bad filter and an unreachable service are errors with their reason', async () => {
  expect((await run(LOG, ['list', '--state', 'FAILED'])).stderr).toContain('state must be one of CREATED');
  const down = new ServiceError('list-logs: connection refused', {
    code: 'connection',
    operation: 'list-logs',
    effect: 'none',
  });
  for (const args of [['list'], ['show', 'x']]) {
    const { code, stdout, stderr } = await run(down, args);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('The service did not answer for account production: list-logs: connection refused');
  }
});

test('show has the timeline, with what is unknown', async () => {
  const log = [
    entry('msg_1', 0, 'CREATED', { url: 'https://a.example/hook', labels: ['billing'], workflowRunId: 'r' }),
    entry('msg_1', 100, 'ACTIVE'),
    entry('msg_1', 350, 'ERROR', { responseStatus: 503, error: HOSTILE, nextDeliveryTime: NOW + 1_350 }),
    entry('msg_1', 1_600, 'DELIVERED', { responseStatus: 200 }),
  ];
  const { code, stdout } = await run(log, ['show', 'msg_1']);
  await expect(stdout).toMatchFileSnapshot('../fixtures/show/message.txt');
  expect(code).toBe(0);
  expect(JSON.parse((await run(log, ['show', 'msg_1', '-o', 'json'])).stdout)).toMatchObject({
    message: { messageId: 'msg_1', totalMs: 1_600 },
  });
  const unknown = await run(log, ['show', 'nothing/../here']);
  expect(unknown.code).toBe(1);
  expect(unknown.stderr).toContain('The id nothing/../here is in no message log');
});

test('show of a run has its messages', async () => {
  const log = [entry('s1', 10, 'DELIVERED', { workflowRunId: 'r' }), entry('s2', 20, 'ERROR', { workflowRunId: 'r' })];
  const { stdout } = await run(log, ['show', 'r']);
  await expect(stdout).toMatchFileSnapshot('../fixtures/show/run.txt');
});
