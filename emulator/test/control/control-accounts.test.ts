/** Accounts that tests control: accounts added at run time, and their signing keys. */
import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { AccountStatsJson } from '#emulator/statistics/account-stats.ts';
import { control, controlled, controlledWithSink } from '../controlled.ts';
import { ACCOUNT, MANAGER, READ_ONLY_TOKEN, START, TOKEN } from '../world.ts';

const BEARER = { Authorization: 'Bearer token-2' };
const DAY = 86_400_000;

interface Keys {
  readonly current: string;
  readonly next: string;
}

/** Returns true if a delivery's signature was made with the key. */
function isSignedWith(key: string, signature: unknown): boolean {
  const [head, claims, mac] = String(signature).split('.');
  return createHmac('sha256', key).update(`${head}.${claims}`).digest('base64url') === mac;
}

describe('an added account', () => {
  test('publishes, has its own log, statistics and keys, and does not affect the others', async () => {
    const { sink, service } = await controlledWithSink();
    const added = await control(service, 'POST /accounts', {
      id: 'acc-2',
      token: 'token-2',
      readOnlyToken: 'reader-2',
      signingKeys: { current: 'key-2' },
    });
    expect(added).toEqual({
      status: 200,
      json: {
        id: 'acc-2',
        token: 'token-2',
        readOnlyToken: 'reader-2',
        signingKeys: { current: 'key-2', next: expect.stringMatching(/^sig_/) as string },
      },
    });
    const published = await service.call('POST', `/v2/publish/${sink.url}/a`, { headers: BEARER, body: '{}' });
    expect(published.status).toBe(200);
    await service.emulator.idle();
    expect(isSignedWith('key-2', sink.requests[0]!.headers['svc-signature'])).toBe(true);
    const logsOf = async (token: string): Promise<readonly unknown[]> => {
      const headers = { Authorization: `Bearer ${token}` };
      return (await service.call<{ logs: readonly unknown[] }>('GET', '/v2/logs', { headers })).json.logs;
    };
    expect(await logsOf('reader-2')).toHaveLength(3);
    expect(await logsOf(TOKEN)).toEqual([]);
    const used = async (id: string): Promise<number> => {
      const stats = await service.call<AccountStatsJson>('GET', `/v2/msgsvc/stats/${id}`, { headers: MANAGER });
      return stats.json.daily_used.reduce((sum, { y }) => sum + y, 0);
    };
    expect([await used('acc-2'), await used(ACCOUNT)]).toEqual([1, 0]);
    expect(service.emulator.control.state().accounts.map(({ id }) => id)).toEqual([ACCOUNT, 'acc-2']);
  });

  test("has its plan from the day of its addition, and the plan's limits", async () => {
    const service = await controlled({ enforceLimits: true });
    await service.emulator.advance(DAY);
    service.emulator.control.addAccount({ id: 'acc-2', token: 'token-2', plan: 'fixed_1m' });
    const path = '/v2/msgsvc/stats/acc-2';
    const { json } = await service.call<AccountStatsJson>('GET', path, { headers: MANAGER });
    expect(json.daily_billings.filter(({ y }) => y > 0)).toEqual([
      { x: '2026-11-21 00:00:00.000000000 +0000 UTC', y: 180 },
    ]);
    const record = await service.call('POST', '/v2/msgsvc/rotate-token/acc-2', { headers: MANAGER });
    expect(record.json).toMatchObject({ id: 'acc-2', creation_time: (START + DAY) / 1_000, reserved_price: 180 });
    const bearer = { Authorization: `Bearer ${String(record.json['token'])}` };
    const refused = await service.call('POST', '/v2/publish/http://a.example/', {
      headers: { ...bearer, 'Svc-Retries': '1000' },
    });
    expect(refused).toMatchObject({ status: 412, json: { error: expect.stringContaining('fixed_1m') as string } });
  });

  test.each([
    ['an id in use', { id: ACCOUNT, token: 'other' }, 409, /acc-1 is given twice/],
    ['a token in use', { id: 'acc-2', token: READ_ONLY_TOKEN }, 409, /a token that is in use/],
    ['a read-only token in use', { id: 'acc-2', token: 't', readOnlyToken: TOKEN }, 409, /a token that is in use/],
    ['one token for both', { id: 'acc-2', token: 't', readOnlyToken: 't' }, 409, /a token that is in use/],
    ['no token', { id: 'acc-2' }, 400, /token/],
    ['an empty token', { id: 'acc-2', token: '' }, 400, /token/],
    ['an unknown plan', { id: 'acc-2', token: 't', plan: 'golden' }, 400, /plan/],
    ['an empty signing key', { id: 'acc-2', token: 't', signingKeys: { next: '' } }, 400, /signingKeys\.next/],
    ['an unknown field', { id: 'acc-2', token: 't', colour: 'red' }, 400, /colour/],
  ])('is rejected with %s, and nothing changes', async (_what, body, status, reason) => {
    const service = await controlled();
    const keys = service.emulator.signingKeys(ACCOUNT);
    const answer = await control(service, 'POST /accounts', body);
    expect(answer).toEqual({ status, json: { error: expect.stringMatching(reason) as string } });
    expect(service.emulator.accounts.all().map(({ id }) => id)).toEqual([ACCOUNT]);
    expect(service.emulator.signingKeys(ACCOUNT)).toEqual(keys);
    expect(() =>
      service.emulator.control.addAccount({ id: 'acc-2', token: 't', signingKeys: { current: '' } }),
    ).toThrow('must not be empty');
    expect(service.emulator.accounts.byId('acc-2')).toBeUndefined();
  });

  test('is removed by a reset, and can be added again', async () => {
    const service = await controlled();
    const account = { id: 'acc-2', token: 'token-2' };
    expect((await control(service, 'POST /accounts', account)).status).toBe(200);
    await control(service, 'POST /reset');
    expect((await service.call('GET', '/v2/logs', { headers: BEARER })).status).toBe(401);
    expect((await control(service, 'POST /accounts', account)).status).toBe(200);
    expect((await service.call('GET', '/v2/logs', { headers: BEARER })).status).toBe(200);
  });
});

describe('rolled signing keys', () => {
  test('sign the next delivery, and its receiver already knew the key', async () => {
    const { sink, service } = await controlledWithSink();
    const before = service.emulator.signingKeys(ACCOUNT);
    const { status, json } = await control(service, `POST /accounts/${ACCOUNT}/roll-signing-keys`);
    const rolled = json as unknown as Keys;
    expect([status, rolled.current]).toEqual([200, before.next]);
    expect([before.current, before.next]).not.toContain(rolled.next);
    await service.call('POST', `/v2/publish/${sink.url}/a`, { body: '{}' });
    await service.emulator.idle();
    expect(isSignedWith(before.next, sink.requests[0]!.headers['svc-signature'])).toBe(true);
    expect(service.emulator.control.rollSigningKeys().current).toBe(rolled.next);
  });

  test('require an existing account', async () => {
    const service = await controlled();
    expect(await control(service, 'POST /accounts/acc-9/roll-signing-keys')).toEqual({
      status: 404,
      json: { error: 'unknown account acc-9' },
    });
  });
});

test('a dead letter is found by the schedule assigned to its message later, and by no other', async () => {
  const service = await controlled();
  const { dlqIds } = await service.emulator.control.seed({ deadLetters: [{ url: 'http://a.example/', count: 2 }] });
  const [first] = service.emulator.messages(ACCOUNT);
  service.emulator.control.nameMessage({ messageId: first!.id, scheduleId: 'nightly' });
  service.emulator.control.nameMessage({ messageId: first!.id, scheduleId: 'weekly', queueName: 'q' });
  const remove = async (query: string): Promise<unknown> =>
    (await service.call('DELETE', `/v2/dlq?${query}`)).json['deleted'];
  expect(await remove('scheduleId=nightly')).toBe(0);
  expect(await remove('scheduleId=weekly&queueName=q')).toBe(1);
  expect(await remove('scheduleId=weekly')).toBe(0);
  const left = service.emulator.control.state().accounts[0]!.dlq.map(({ dlqId }) => dlqId);
  expect(left).toEqual([dlqIds[1]]);
});
