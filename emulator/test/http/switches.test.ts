/** Every switch, as a caller sees each of its values, set at run time. */
import { describe, expect, test } from 'vitest';
import { SWITCH_VALUES, type Switches } from '#emulator/state/switches.ts';
import { httpSink } from '../../../test/support/http-sink.ts';
import { manage, type Json } from '../conformance-support.ts';
import { control, controlled } from '../controlled.ts';
import { ACCOUNT, allLogs, START, TOKEN, type World } from '../world.ts';

type Names = keyof Switches;

interface Scene {
  readonly service: World;
  /** Destination: /ok responds 200, every other path 500. */
  readonly url: string;
}

async function scene(): Promise<Scene> {
  const sink = await httpSink((request, response) => void response.writeHead(request.url === '/ok' ? 200 : 500).end());
  const accounts = [{ id: ACCOUNT, token: TOKEN, plan: 'paid' as const }];
  const service = await controlled({ enforceLimits: true, accounts });
  return { service, url: sink.url };
}

const NO_RETRY = { 'Svc-Retries': '0' };

async function publish({ service, url }: Scene, path: string, headers: Record<string, string> = NO_RETRY) {
  const answer = await service.call('POST', `/v2/publish/${url}${path}`, { headers });
  await service.emulator.idle();
  return answer;
}

async function failedRun({ service, url }: Scene, headers: Record<string, string> = {}): Promise<readonly Json[]> {
  const all = { ...NO_RETRY, 'Svc-Workflow-RunId': 'run-1', 'Svc-Label': 'old', ...headers };
  await service.call('POST', `/v2/trigger/${url}/bad`, { headers: all });
  await service.emulator.idle();
  return (await service.call<{ messages: Json[] }>('GET', '/v2/workflows/dlq')).json.messages;
}

async function resumedRun(of: Scene): Promise<Json> {
  await failedRun(of);
  await of.service.call('POST', '/v2/workflows/dlq/resume', { headers: { 'Svc-Label': 'new' } });
  await of.service.emulator.idle();
  return (await of.service.call<{ messages: Json[] }>('GET', '/v2/workflows/dlq')).json.messages[0]!;
}

const stats = async ({ service }: Scene): Promise<Json> =>
  (await manage(service, 'GET', `/v2/msgsvc/stats/${ACCOUNT}`)).json;

const status = async ({ service }: Scene, path: string): Promise<number> => (await service.call('GET', path)).status;

/** An observation, and its expected result by value. */
type Probe<Value extends string | number> = readonly [
  see: (of: Scene) => Promise<unknown>,
  expected: Readonly<Record<Value, unknown>>,
];

const PROBES: { readonly [K in Names]: Probe<Switches[K]> } = {
  logState: [
    async (of) => {
      await publish(of, '/ok');
      return (await allLogs(of.service)).map((entry) => entry.state);
    },
    { present: ['DELIVERED', 'ACTIVE', 'CREATED'], absent: [undefined, undefined, undefined] },
  ],
  endCursor: [
    async ({ service }) =>
      Promise.all(
        ['/v2/logs', '/v2/workflows/dlq'].map(async (path) => (await service.call('GET', path)).json['cursor']),
      ),
    { absent: [undefined, undefined], empty: ['', ''] },
  ],
  logOrder: [
    async (of) => {
      await publish(of, '/ok');
      await of.service.emulator.advance(1_000);
      await publish(of, '/ok');
      return [...new Set((await allLogs(of.service)).map(({ time }) => time - START))];
    },
    { newest: [1_000, 0], oldest: [0, 1_000] },
  ],
  dlqOrder: [
    async (of) => {
      const runs: unknown[] = [];
      for (let n = 1; n <= 4; n++) {
        await failedRun(of, { 'Svc-Workflow-RunId': `run-${n}` });
        await publish(of, '/bad', { ...NO_RETRY, 'Svc-Label': `label-${n}` });
      }
      for (let cursor = ''; runs.length < 4;) {
        const { json } = await of.service.call('GET', `/v2/workflows/dlq?count=3&cursor=${cursor}`);
        for (const run of json['messages'] as Json[]) runs.push(run['workflowRunId']);
        cursor = String(json['cursor']);
      }
      // Bulk operation with a maximum of two.
      await of.service.call('DELETE', '/v2/workflows/dlq?count=2&callerIp=127.0.0.1');
      await of.service.call('DELETE', '/v2/dlq?count=2');
      const left = of.service.emulator.workflowDlq(ACCOUNT).map(({ workflowRunId }) => workflowRunId);
      const dead = Array.from({ length: 4 }, (_, n) => `label-${n + 1}`);
      const deleted = await Promise.all(
        dead.map(async (label) => (await of.service.call('DELETE', `/v2/dlq?label=${label}`)).json['deleted']),
      );
      return [runs, left, deleted];
    },
    {
      oldest: [
        ['run-1', 'run-2', 'run-3', 'run-4'],
        ['run-3', 'run-4'],
        [0, 0, 1, 1],
      ],
      newest: [
        ['run-4', 'run-3', 'run-2', 'run-1'],
        ['run-1', 'run-2'],
        [1, 1, 0, 0],
      ],
    },
  ],
  logEntries: [
    async (of) => {
      await publish(of, '/bad', { 'Svc-Retries': '1', 'Svc-Retry-Delay': '5000' });
      await of.service.emulator.advance(5_000);
      return (await allLogs(of.service)).map(({ state, time }) => [state, time - START]);
    },
    {
      transitions: [
        ['FAILED', 5_000],
        ['ERROR', 5_000],
        ['ACTIVE', 5_000],
        ['RETRY', 0],
        ['ERROR', 0],
        ['ACTIVE', 0],
        ['CREATED', 0],
      ],
      latest: [['FAILED', 5_000]],
      'at-creation': [['FAILED', 0]],
    },
  ],
  pointFractionDigits: [
    async (of) => {
      of.service.emulator.indexes.createVectorIndex('v');
      const vectors = (await manage(of.service, 'GET', '/v2/vector/index/v/stats')).json['vector_count'];
      const all = [(await stats(of))['daily_used'], vectors] as { readonly x: string }[][];
      return [...new Set(all.map((points) => points.at(-1)!.x))];
    },
    Object.fromEntries(
      SWITCH_VALUES.pointFractionDigits.map((digits) => [
        digits,
        [`2026-11-20 12:00:00${digits === 0 ? '' : '.'}${'0'.repeat(digits)} +0000 UTC`],
      ]),
    ) as unknown as Record<Switches['pointFractionDigits'], readonly string[]>,
  ],
  groupPublish: [
    async (of) => {
      const endpoints = [{ url: `${of.url}/ok` }];
      await of.service.call('POST', '/v2/topics/g/endpoints', { body: JSON.stringify({ endpoints }) });
      const { json } = await of.service.call('POST', '/v2/publish/g');
      return Array.isArray(json) ? 'array' : Object.keys(json);
    },
    { array: 'array', object: ['messages'] },
  ],
  duplicateStatus: [
    async (of) => {
      await publish(of, '/ok', { 'Svc-Deduplication-Id': 'd' });
      return (await publish(of, '/ok', { 'Svc-Deduplication-Id': 'd' })).status;
    },
    { 200: 200, 202: 202 },
  ],
  labelOverride: [async (of) => (await resumedRun(of))['labels'], { replaces: ['new'], adds: ['old', 'new'] }],
  resumeRunIds: [
    async (of) => (await resumedRun(of))['workflowRunId'],
    { renew: expect.stringMatching(/^wfr_/), keep: 'run-1' },
  ],
  failureState: [
    async (of) => {
      const [run] = await failedRun(of, { 'Svc-Failure-Callback': `${of.url}/ok` });
      return [run!['failureFunctionState'], run!['failureCallbackInfo']];
    },
    { plain: ['CALLBACK_SUCCESS', undefined], info: [undefined, { state: 'CALLBACK_SUCCESS' }] },
  ],
  failureFunction: [
    async (of) => (await failedRun(of))[0]!['failureFunctionState'],
    // The failure function is called, and fails as the run did.
    { off: undefined, on: 'CALLBACK_FAIL' },
  ],
  privateDestinations: [async (of) => (await publish(of, '/ok')).status, { allowed: 200, refused: 400 }],
  signatureTime: [
    async ({ service: { call, emulator } }) => {
      await emulator.destinations.script('signed.example', [200]);
      await call('POST', '/v2/publish/https://signed.example/');
      await emulator.idle();
      const [, claims] = String(emulator.destinations.requests('signed.example')[0]!.headers['svc-signature']).split(
        '.',
      );
      return (JSON.parse(Buffer.from(claims!, 'base64url').toString()) as Json)['iat'] === START / 1_000;
    },
    { real: false, virtual: true },
  ],
  canceledSpelling: [
    async (of) => {
      const { json } = await publish(of, '/ok', { 'Svc-Delay': '1h' });
      of.service.emulator.cancelMessage(ACCOUNT, String(json['messageId']));
      const found = await Promise.all(['CANCELLED', 'CANCELED'].map((state) => allLogs(of.service, `state=${state}`)));
      return found.map((entries) => entries.map((entry) => entry.state));
    },
    { CANCELLED: [['CANCELLED'], ['CANCELLED']], CANCELED: [['CANCELED'], ['CANCELED']] },
  ],
  unknownFilter: [
    (of) =>
      Promise.all(['/v2/logs?colour=1', '/v2/topics?x=1', '/v2/workflows/dlq?y='].map((path) => status(of, path))),
    { refused: [400, 400, 400], ignored: [200, 200, 200] },
  ],
  countAboveMaximum: [
    (of) => Promise.all(['/v2/logs?count=101', '/v2/workflows/dlq?count=101'].map((path) => status(of, path))),
    { refused: [400, 400], clamped: [200, 200] },
  ],
  dlqMessageCount: [
    async (of) => {
      await failedRun(of);
      await publish(of, '/bad');
      return (await stats(of))['dlq_message_count'];
    },
    { messages: 1, all: 2 },
  ],
  rateLimitHeaders: [
    async ({ service }) =>
      Object.keys((await service.call('GET', '/v2/topics')).headers).filter((name) => name.endsWith('ratelimit-limit')),
    {
      both: ['burst-ratelimit-limit', 'ratelimit-limit'],
      burst: ['burst-ratelimit-limit'],
      daily: ['ratelimit-limit'],
      none: [],
    },
  ],
};

const CASES = (Object.keys(SWITCH_VALUES) as Names[]).flatMap((name) =>
  SWITCH_VALUES[name].map((value) => [name, value] as const),
);

describe('switches', () => {
  test.each(CASES)('%s: %s', async (name, value) => {
    const of = await scene();
    const set = await control(of.service, 'POST /switches', { failureFunction: 'off', [name]: value });
    expect(set.json).toMatchObject({ [name]: value });
    expect((await control(of.service, 'GET /switches')).json).toEqual(set.json);
    const [see, expected] = PROBES[name] as Probe<string | number>;
    expect(await see(of)).toEqual(expected[value]);
  });
});
