/** A service with a folder: acknowledged changes exist after a restart, and work continues. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import type { PlanName } from '#emulator/state/account.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { httpSink } from '../../../test/support/http-sink.ts';
import { opsd } from '../../../test/support/program.ts';
import { tempDir } from '../../../test/support/temp-dir.ts';
import { until } from '../../../test/support/until.ts';
import { manage } from '../conformance-support.ts';
import { ACCOUNT, allLogs, TOKEN, world, type World } from '../world.ts';

let seed = 100;
const kept = (dataFolder: string, options: Parameters<typeof world>[0] = {}) =>
  world({ dataFolder, random: seededRandom(seed++), ...options });

const rows = (folder: string): Record<string, number> => {
  using db = disposable(new DatabaseSync(join(folder, 'emulator.db'), { readOnly: true }));
  const count = (table: string) => Number(db.database.prepare(`SELECT count(*) AS n FROM ${table}`).get()!['n']);
  return { messages: count('message'), entries: count('entry'), deadLetters: count('dead_letter') };
};
const disposable = (database: DatabaseSync) => ({ database, [Symbol.dispose]: () => database.close() });

describe('after a restart', () => {
  test('a message that waits still waits, with its bytes', async () => {
    const folder = tempDir();
    const sink = await httpSink();
    const first = await kept(folder);
    const body = Uint8Array.of(0, 255, 254);
    await first.call('POST', `/v2/publish/${sink.url}/`, { headers: { 'Svc-Delay': '1h' }, body });
    await first.emulator.stop();
    const second = await kept(folder);
    await second.clock.advance(3_599_999);
    await second.emulator.idle();
    expect(sink.requests).toEqual([]);
    await second.drain();
    expect(sink.requests.map((request) => [...request.body])).toEqual([[...body]]);
  });

  test('rotated tokens stay valid, and a newly configured token replaces them', async () => {
    const folder = tempDir();
    const first = await kept(folder);
    const { json } = await manage(first, 'POST', `/v2/msgsvc/rotate-token/${ACCOUNT}`);
    await first.emulator.stop();
    const second = await kept(folder);
    expect((await second.call('GET', '/v2/topics')).status).toBe(401);
    expect(second.emulator.accounts.byId(ACCOUNT)!.token).toBe((json as { token: string }).token);
    await second.emulator.stop();
    const third = await kept(folder, { accounts: [{ id: ACCOUNT, token: 'another' }] });
    expect(third.emulator.accounts.byId(ACCOUNT)!.token).toBe('another');
    const { next } = third.emulator.signingKeys(ACCOUNT);
    await third.emulator.stop();
    const fourth = await kept(folder, { accounts: [{ id: ACCOUNT, token: 'x', signingKeys: { current: 'mine' } }] });
    expect(fourth.emulator.signingKeys(ACCOUNT)).toEqual({ current: 'mine', next });
  });

  test("the day's count of messages continues, and the next day starts at 0", async () => {
    const folder = tempDir();
    const limited = { enforceLimits: true, accounts: [{ id: ACCOUNT, token: TOKEN, plan: 'free' as const }] };
    const remaining = async (service: World) =>
      Number((await service.call('GET', '/v2/topics')).headers['ratelimit-remaining']);
    const sink = await httpSink();
    const first = await kept(folder, limited);
    const all = await remaining(first);
    for (let index = 0; index < 7; index++) await first.call('POST', `/v2/publish/${sink.url}/`);
    expect(await remaining(first)).toBe(all - 7);
    await first.emulator.stop();
    const second = await kept(folder, limited);
    expect(await remaining(second)).toBe(all - 7);
    await second.call('POST', `/v2/publish/${sink.url}/`);
    await second.emulator.stop();
    const third = await kept(folder, limited);
    expect(await remaining(third)).toBe(all - 8);
    await third.clock.advance(13 * 3_600_000);
    expect(await remaining(third)).toBe(all);
  });

  test('creator, state and plans of an account persist', async () => {
    const folder = tempDir();
    const suspended = { id: ACCOUNT, token: TOKEN, state: 'passive', modifyingState: 'suspended', budgetUsd: 50 };
    const accounts = [suspended, { id: 'acc-2', token: 'token-2', plan: 'free' as const }];
    const record = async (service: World, id: string) => {
      const { json } = await manage(service, 'POST', `/v2/msgsvc/rotate-token/${id}`);
      return { ...json, token: '', read_only_token: '' };
    };
    const first = await kept(folder, { accounts });
    await first.clock.advance(90_000);
    await manage(first, 'POST', '/v2/msgsvc/move-to-team', { msgsvc_id: ACCOUNT, target_team_id: 'team-1' });
    first.emulator.accounts.setState(ACCOUNT, { state: 'active' });
    const enterprise = { plan: 'enterprise', enterpriseId: 'big', now: first.clock.now() } as const;
    first.emulator.accounts.setPlan('acc-2', enterprise);
    await manage(first, 'PATCH', `/v2/msgsvc/update-budget/${ACCOUNT}`, { budget: 0 });
    const before = [await record(first, ACCOUNT), await record(first, 'acc-2')];
    expect(before).toMatchObject([
      { customer_id: 'team-1', created_by: `owner@${ACCOUNT}.example`, state: 'active', budget: 0 },
      { reserved_type: 'enterprise:big', enterprise: { id: 'big' } },
    ]);
    expect(before[0]).not.toHaveProperty('modifying_state');
    await first.emulator.stop();

    const second = await kept(folder, { accounts });
    expect([await record(second, ACCOUNT), await record(second, 'acc-2')]).toEqual(before);
    await second.emulator.stop();

    // A changed setting at a start applies.
    const third = await kept(folder, { accounts: [{ ...suspended, state: 'active', budgetUsd: 60 }, accounts[1]!] });
    expect(await record(third, ACCOUNT)).toEqual({ ...before[0], budget: 60 });
  });

  test('a changed plan at a start is a change of plan, billed from its day on', async () => {
    const folder = tempDir();
    const start = (plan: PlanName) => kept(folder, { accounts: [{ id: ACCOUNT, token: TOKEN, plan }] });
    const billed = async (service: World) => {
      const { json } = await manage(service, 'GET', `/v2/msgsvc/stats/${ACCOUNT}`);
      return json['total_monthly_billing'];
    };
    const first = await start('fixed_1m');
    expect(await billed(first)).toBe(180);
    await first.emulator.stop();
    for (const plan of ['paid', 'paid', 'fixed_10m', 'fixed_10m'] as const) {
      const later = await start(plan);
      expect(await billed(later)).toBe(plan === 'paid' ? 180 : 600);
      await later.emulator.stop();
    }
  });

  test('an aborted delivery is repeated and counts as one attempt', async () => {
    const folder = tempDir();
    let arrived = Promise.withResolvers<void>();
    const sink = await httpSink(() => arrived.resolve());
    const first = await kept(folder);
    await first.call('POST', `/v2/publish/${sink.url}/`, { body: 'hello' });
    await arrived.promise;
    await first.emulator.stop();

    arrived = Promise.withResolvers();
    sink.answerWith((_request, response) => void response.end());
    const second = await kept(folder);
    await second.emulator.idle();
    expect(sink.requests.map((request) => [request.body.toString(), request.headers['svc-retried']])).toEqual([
      ['hello', '0'],
      ['hello', '0'],
    ]);
    expect(second.emulator.messages(ACCOUNT)).toMatchObject([{ state: 'DELIVERED', attempts: 1 }]);
  });

  test('cursors continue where they were', async () => {
    const folder = tempDir();
    const sink = await httpSink();
    const first = await kept(folder);
    for (let index = 0; index < 5; index++) await first.call('POST', `/v2/publish/${sink.url}/${index}`);
    await first.drain();
    const all = await allLogs(first);
    const page = await first.call<{ cursor: string; logs: object[] }>('GET', '/v2/logs?count=4');
    await first.emulator.stop();
    const second = await kept(folder);
    await second.call('POST', `/v2/publish/${sink.url}/more`);
    await second.drain();
    const rest = await allLogs(second, `cursor=${page.json.cursor}`);
    expect([...page.json.logs, ...rest]).toEqual(all);
  });
});

test('entries that the retention drops leave the folder too', async () => {
  const folder = tempDir();
  const sink = await httpSink((request, response) => void response.writeHead(request.url === '/bad' ? 500 : 200).end());
  const options = { logMaxEntries: 600, enforceLimits: false };
  const service = await kept(folder, options);
  const headers = { 'Svc-Retries': '0', 'Svc-Failure-Callback': `${sink.url}/failed` };
  await service.call('POST', `/v2/publish/${sink.url}/bad`, { headers });
  await service.drain();
  for (let batch = 0; batch < 30; batch++) {
    await Promise.all(Array.from({ length: 20 }, () => service.call('POST', `/v2/publish/${sink.url}/`)));
  }
  await service.drain();
  const held = service.emulator.messages(ACCOUNT).length;
  await service.emulator.stop();
  // The failed message and the one that reports it stay as long as the dead letter.
  const stored = rows(folder);
  expect(stored).toEqual({ messages: held + 2, entries: expect.any(Number), deadLetters: 1 });
  expect(stored['entries']).toBeLessThanOrEqual(600);
  const second = await kept(folder, options);
  expect((await second.call<{ deleted: number }>('DELETE', '/v2/dlq')).json.deleted).toBe(1);
  await second.emulator.stop();
  expect(rows(folder)).toMatchObject({ messages: held, deadLetters: 0 });
});

test('the next process delivers the messages that a killed process had accepted', async () => {
  const folder = tempDir();
  const held: (() => void)[] = [];
  let holding = true;
  const sink = await httpSink((_request, response) => {
    if (holding) held.push(() => response.end());
    else response.end();
  });
  const run = async () => {
    const program = opsd(['emulator', '--listen', '127.0.0.1:0', '--token', TOKEN, '--data', folder]);
    const line = await until({ what: 'the ready line' }, () => /^\{.*\}$/m.exec(program.stdout())?.[0]);
    return { program, url: (JSON.parse(line) as { url: string }).url };
  };
  const first = await run();
  const accepted = new Set<string>();
  // Several callers send requests until the end of the process.
  const callers = Array.from({ length: 8 }, async (_, caller) => {
    for (let index = 0; ; index++) {
      const response = await fetch(`${first.url}/v2/publish/${sink.url}/${caller}/${index}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}` },
        body: `${caller} ${index}`,
      }).catch(() => undefined);
      const text = await response?.text().catch(() => undefined);
      if (response?.status !== 200 || text === undefined) return;
      accepted.add((JSON.parse(text) as { messageId: string }).messageId);
      if (accepted.size === 200) first.program.kill('SIGKILL');
    }
  });
  await Promise.all(callers);
  await first.program.ended;
  holding = false;
  for (const answer of held) answer();
  const before = sink.requests.length;
  expect(accepted.size).toBeGreaterThanOrEqual(200);

  const second = await run();
  const delivered = () => new Set(sink.requests.slice(before).map(({ headers }) => headers['svc-message-id']));
  await until({ what: 'every accepted message arrived' }, () => [...accepted].every((id) => delivered().has(id)));
  second.program.kill('SIGTERM');
  expect((await second.program.ended).code).toBe(0);
});
