/**
 * Any sequence of operations on a service with a folder: its state after a restart equals its state before. A `kill -9`
 * is a copy of the folder as it is on disk at that moment; a clean end is another case.
 */
import { cpSync } from 'node:fs';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runEmulator, type RunningEmulator } from '#emulator/emulator.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { httpSink } from '../../../test/support/http-sink.ts';
import { tempDir } from '../../../test/support/temp-dir.ts';
import { ACCOUNT, START } from '../world.ts';

const MANAGEMENT = `Basic ${Buffer.from('user:password').toString('base64')}`;
const TEAM = 'acc-2';

/** One step in the life of a service. Numbers select from few items, so that steps interact. */
type Step =
  | { readonly kind: 'publish'; readonly to: string; readonly body: number; readonly headers: Record<string, string> }
  | { readonly kind: 'trigger'; readonly to: string; readonly headers: Record<string, string> }
  | { readonly kind: 'group'; readonly name: string; readonly endpoint: number }
  | { readonly kind: 'bulk'; readonly method: 'POST' | 'DELETE'; readonly path: string }
  | { readonly kind: 'manage'; readonly method: 'POST' | 'PATCH'; readonly path: string; readonly body: object }
  | { readonly kind: 'index'; readonly change: 'create' | 'rename' | 'transfer'; readonly name: string }
  | { readonly kind: 'state'; readonly state: string; readonly modifyingState?: string }
  | { readonly kind: 'plan'; readonly plan: 'free' | 'enterprise'; readonly enterpriseId: string }
  | { readonly kind: 'cancel'; readonly which: number }
  | { readonly kind: 'rotate' }
  | { readonly kind: 'keys' }
  | { readonly kind: 'wait'; readonly ms: number };

const one = fc.constantFrom;
const headers = fc
  .record(
    {
      'Svc-Delay': one('1m', '1h'),
      'Svc-Retries': one('0', '2'),
      'Svc-Retry-Delay': one('1000 * (1 + retried)', '60000'),
      'Svc-Label': one('a', 'b, c'),
      'Svc-Deduplication-Id': one('once', 'twice'),
      'Svc-Content-Based-Deduplication': one('true'),
      'Svc-Callback': one('SINK/callback'),
      'Svc-Callback-Retry-Delay': one('5000'),
      'Svc-Failure-Callback': one('SINK/failed', 'SINK/bad/told'),
      'Svc-Redact-Fields': one('body', 'headers', 'header[X-Own]'),
      'Svc-Forward-X-Own': one('yes', 'é'),
      flow: one('parallelism=2', 'rate=1, period=1h', 'parallelism=1, rate=3, period=10m'),
    },
    { requiredKeys: [] },
  )
  .map(({ flow, ...rest }): Record<string, string> => {
    const callback = rest['Svc-Callback'] === undefined ? { 'Svc-Callback-Retry-Delay': undefined } : {};
    const key = flow !== undefined && { 'Svc-Flow-Control-Key': 'key', 'Svc-Flow-Control-Value': flow };
    const all = Object.entries({ ...rest, ...callback, ...key });
    return Object.fromEntries(all.filter((pair): pair is [string, string] => typeof pair[1] === 'string'));
  });
const forTrigger = headers.map((all) =>
  Object.fromEntries(Object.entries(all).filter(([name]) => !/Callback-Retry|Svc-Callback|Dedup|Redact/.test(name))),
);
const manage = (method: 'POST' | 'PATCH', path: string, body: object): Step => ({ kind: 'manage', method, path, body });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: one('publish'), to: one('/good', '/bad', 'group-a'), body: fc.nat(3), headers }),
  },
  { weight: 3, arbitrary: fc.record({ kind: one('trigger'), to: one('/good', '/bad'), headers: forTrigger }) },
  fc.record({ kind: one('group'), name: one('group-a', 'group-b'), endpoint: fc.nat(2) }),
  one<Step>(
    { kind: 'bulk', method: 'POST', path: '/v2/workflows/dlq/resume?count=1' },
    { kind: 'bulk', method: 'DELETE', path: '/v2/workflows/dlq?count=1' },
    { kind: 'bulk', method: 'DELETE', path: '/v2/dlq?count=1' },
    { kind: 'rotate' },
    { kind: 'keys' },
  ),
  one<Step>(
    manage('POST', '/v2/msgsvc/move-to-team', { msgsvc_id: ACCOUNT, target_team_id: TEAM }),
    manage('POST', `/v2/msgsvc/set-plan/${ACCOUNT}`, { plan_name: 'msgsvc_fixed_10m' }),
    manage('POST', `/v2/msgsvc/set-plan/${ACCOUNT}`, { plan_name: 'paid' }),
    manage('PATCH', `/v2/msgsvc/update-budget/${ACCOUNT}`, { budget: 77 }),
    { kind: 'state', state: 'passive' },
    { kind: 'state', state: 'active', modifyingState: 'suspended' },
    { kind: 'state', state: 'active' },
    { kind: 'plan', plan: 'free', enterpriseId: '' },
    { kind: 'plan', plan: 'enterprise', enterpriseId: 'big' },
  ),
  fc.record({ kind: one('index'), change: one('create', 'rename', 'transfer'), name: one('shop', 'blog') }),
  fc.record({ kind: one('cancel'), which: fc.nat(5) }),
  { weight: 4, arbitrary: fc.record({ kind: one('wait'), ms: one(1_000, 30_000, 660_000, 7_200_000, 86_400_000) }) },
);

class Life {
  readonly clock = new ManualClock(START);
  readonly sink: string;
  /** The account's present token. */
  token = 'token-1';
  readonly indexes: string[] = [];
  emulator!: RunningEmulator;
  #seed = 1;

  constructor(sink: string) {
    this.sink = sink;
  }

  async start(dataFolder: string): Promise<RunningEmulator> {
    this.emulator = await runEmulator({
      clock: this.clock,
      random: seededRandom(this.#seed++),
      listen: { host: '127.0.0.1', port: 0 },
      accounts: [
        { id: ACCOUNT, token: 'token-1', modifyingState: 'moving', region: 'us-east-1' },
        { id: TEAM, token: 'token-2' },
      ],
      management: { username: 'user', password: 'password' },
      switches: { failureFunction: 'on' },
      dataFolder,
      onError: (error) => {
        throw error;
      },
    });
    return this.emulator;
  }

  async ask(method: string, path: string, options: { headers?: Record<string, string>; body?: string } = {}) {
    const authorization = path.startsWith('/v2/msgsvc') || /^\/v2\/(search|vector)/.test(path) ? MANAGEMENT : undefined;
    const given = Object.entries(options.headers ?? {}).map(([name, value]) => [
      name,
      value.replace('SINK', this.sink),
    ]);
    const sent = { authorization: authorization ?? `Bearer ${this.token}`, ...Object.fromEntries(given) };
    const outgoing = request(this.emulator.url, { method, path, headers: sent, agent: false });
    outgoing.end(options.body);
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    const body = await text(answer);
    const json = body === '' ? undefined : (JSON.parse(body) as Record<string, unknown>);
    return { status: answer.statusCode!, json, ofTheDay: answer.headers['ratelimit-remaining'] };
  }

  async do(step: Step): Promise<void> {
    const { emulator } = this;
    switch (step.kind) {
      case 'publish':
        await this.ask('POST', `/v2/publish/${step.to.startsWith('/') ? this.sink : ''}${step.to}`, {
          headers: step.headers,
          body: `body ${step.body}`,
        });
        break;
      case 'trigger':
        await this.ask('POST', `/v2/trigger/${this.sink}${step.to}`, { headers: step.headers, body: 'run' });
        break;
      case 'group': {
        const endpoints = [{ url: `${this.sink}/${step.endpoint === 0 ? 'bad' : 'good'}`, name: `e${step.endpoint}` }];
        await this.ask('POST', `/v2/topics/${step.name}/endpoints`, { body: JSON.stringify({ endpoints }) });
        break;
      }
      case 'bulk':
        await this.ask(step.method, step.path);
        break;
      case 'manage':
        await this.ask(step.method, step.path, { body: JSON.stringify(step.body) });
        break;
      case 'index':
        await this.#changeIndex(step.change, step.name);
        break;
      case 'state':
        emulator.accounts.setState(ACCOUNT, step);
        break;
      case 'plan':
        emulator.accounts.setPlan(ACCOUNT, { ...step, now: this.clock.now() });
        break;
      case 'cancel': {
        const message = emulator.messages(ACCOUNT)[step.which];
        if (message !== undefined) emulator.cancelMessage(ACCOUNT, message.id);
        break;
      }
      case 'rotate':
        this.token = (await this.ask('POST', `/v2/msgsvc/rotate-token/${ACCOUNT}`)).json!['token'] as string;
        break;
      case 'keys':
        emulator.rollSigningKeys(ACCOUNT);
        break;
      case 'wait':
        await this.wait(step.ms);
        break;
    }
    await emulator.idle();
  }

  async #changeIndex(change: 'create' | 'rename' | 'transfer', name: string): Promise<void> {
    const [id] = this.indexes;
    if (change === 'create' || id === undefined) {
      const body = JSON.stringify({ name, region: 'eu-west-1', type: 'payg' });
      this.indexes.push((await this.ask('POST', '/v2/search', { body })).json!['id'] as string);
    } else {
      const body = change === 'rename' ? { name } : { target_account: TEAM };
      await this.ask('POST', `/v2/search/${id}/${change}`, { body: JSON.stringify(body) });
    }
  }

  /** Moves from one timer to the next. */
  async wait(ms: number): Promise<void> {
    const end = this.clock.monotonic() + ms;
    for (;;) {
      await this.emulator.idle();
      const next = Math.min(this.clock.nextIn ?? Infinity, end - this.clock.monotonic());
      await this.clock.advance(next);
      if (this.clock.monotonic() >= end) break;
    }
    await this.emulator.idle();
  }

  /** Returns everything that both APIs report, and further facts of the process. */
  async told(): Promise<object> {
    const { emulator } = this;
    const asked = [
      '/v2/topics',
      '/v2/logs',
      '/v2/logs?state=DELIVERED&count=2',
      '/v2/logs?label=a',
      '/v2/workflows/dlq',
    ];
    asked.push('/v2/workflows/dlq?label=a,b', '/v2/flowControl/key');
    for (const period of ['1h', '3h', '12h', '1d', '3d', '7d', '30d']) {
      asked.push(`/v2/msgsvc/stats/${ACCOUNT}?period=${period}`);
    }
    for (const id of this.indexes) asked.push(`/v2/search/${id}`, `/v2/vector/index/${id}/stats?period=1d`);
    const answers: Record<string, unknown> = {};
    for (const path of asked) answers[path] = await this.ask('GET', path);
    return {
      answers,
      account: structuredClone(emulator.accounts.byId(ACCOUNT)),
      messages: emulator.messages(ACCOUNT),
      keys: emulator.signingKeys(ACCOUNT),
      records: await this.#recordsOfOthers(),
    };
  }

  /** Returns the records of accounts whose tokens are not needed, because only a rotation returns a record. */
  async #recordsOfOthers(): Promise<unknown> {
    const { json } = await this.ask('POST', `/v2/msgsvc/rotate-token/${TEAM}`);
    return { ...json, token: '', read_only_token: '' };
  }

  /** Finds facts that no read returns: messages in the DLQ, and duplicates. */
  async found(): Promise<unknown> {
    this.emulator.accounts.setState(ACCOUNT, { state: 'active' });
    const duplicates = [];
    for (const id of ['once', 'twice']) {
      const headers = { 'Svc-Deduplication-Id': id, 'Svc-Delay': '30m' };
      const { status, json } = await this.ask('POST', `/v2/publish/${this.sink}/good`, { headers });
      duplicates.push(json?.['deduplicated'] === true ? json : status);
    }
    const { json: record } = await this.ask('POST', `/v2/msgsvc/rotate-token/${ACCOUNT}`);
    this.token = record!['token'] as string;
    const deadLetters = await this.ask('DELETE', '/v2/dlq');
    return { duplicates, record: { ...record, token: '', read_only_token: '' }, deadLetters };
  }
}

test('the state of a service is the same after its end, and after a kill -9', async () => {
  const sink = await httpSink(({ url }, response) => void response.writeHead(url.includes('bad') ? 500 : 200).end(url));
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 25 }), async (steps) => {
      const folder = tempDir();
      const life = new Life(sink.url);
      try {
        await life.start(join(folder, 'first'));
        for (const next of steps) await life.do(next);
        const before = await life.told();
        // The response arrives when everything is on disk.
        await life.ask('PATCH', '/v2/msgsvc/update-budget/acc-2', { body: '{"budget":0}' });
        cpSync(join(folder, 'first'), join(folder, 'killed'), { recursive: true });
        const { token } = life;
        const found = await life.found();
        await life.emulator.stop();
        life.token = token;
        // After a kill -9, then after a clean end.
        await life.start(join(folder, 'killed'));
        await life.emulator.idle();
        expect(await life.told()).toEqual(before);
        await life.emulator.stop();
        await life.start(join(folder, 'killed'));
        await life.emulator.idle();
        expect(await life.told()).toEqual(before);
        expect(await life.found()).toEqual(found);
      } finally {
        await life.emulator.stop();
      }
    }),
    { numRuns: 8, interruptAfterTimeLimit: 40_000 },
  );
});
