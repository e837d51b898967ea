/** Hostile requests to the hooks: the right status, a short response without quotes of the input, and a count. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { Secret } from '#foundation/platform/secret.ts';
import { until } from '../../support/until.ts';
import { raw } from '../http/world.ts';
import {
  alert,
  AM_TOKEN,
  BODY,
  CALLBACK_TOKEN,
  CANARIES,
  failureCallback,
  hookWorld,
  notification,
  QUERY,
  signed,
  SIGNING_KEY,
} from './hook-world.ts';

const RULES = join(import.meta.dirname, '../../../deploy/prometheus/opsd-alerts-core.yaml');
/** A request that says it has 100 bytes. */
const BEGINNING = `POST /hooks/alertmanager/opsd HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${AM_TOKEN}\r\nContent-Length: 100\r\n\r\n`;
const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

describe('rejected bodies', () => {
  test.each<[string, string | object, number]>([
    ['no JSON', 'canary-am-4711 is no JSON', 400],
    ['nothing', '', 400],
    ['a list', '[]', 400],
    ['null', 'null', 400],
    ['another version', { ...notification(alert()), version: '3' }, 400],
    ['no alerts', { version: '4' }, 400],
    ['alerts of another type', { version: '4', alerts: { length: 3 } }, 400],
    ['too many alerts', { version: '4', alerts: Array.from({ length: 1_001 }, () => alert()) }, 400],
    ['no alert that can be understood', { version: '4', alerts: [{ status: 'firing' }, 3] }, 400],
    ['deep nesting in what is fine otherwise', { ...notification(alert()), more: JSON.parse(deep(32)) as object }, 400],
    ['very deep nesting', deep(200_000), 400],
    ['deep nesting behind a text with quotes', `{"a":"\\"[","b":${deep(40)}}`, 400],
    ['a huge body', JSON.stringify({ ...notification(), more: 'x'.repeat(4_194_304) }), 413],
  ])('%s', async (_what, body, status) => {
    const { notify, alerts, runs, said } = await hookWorld();
    const answer = await notify(body);
    expect(answer.status).toBe(status);
    expect(answer.text.length).toBeLessThan(200);
    for (const canary of CANARIES) expect(answer.text).not.toContain(canary);
    expect({ alerts, runs }).toEqual({ alerts: [], runs: [] });
    const refused = status === 413 ? 'too_large' : 'malformed';
    expect(said).toContainEqual({ type: 'hook.answered', hook: 'alertmanager', name: 'opsd', code: status, refused });
  });

  test('the maximum number of alerts is accepted, as long as the shipped rules make them', async () => {
    const { notify, alerts } = await hookWorld();
    const { groups } = parse(readFileSync(RULES, 'utf8')) as {
      groups: { rules: { alert: string; expr: string; annotations: object }[] }[];
    };
    const rules = groups.flatMap(({ rules }) => rules);
    const length = ({ expr, annotations }: (typeof rules)[number]): number =>
      JSON.stringify({ expr: encodeURIComponent(expr), annotations }).length;
    const { alert: alertname, expr, annotations } = rules.toSorted((a, b) => length(b) - length(a))[0]!;
    const many = Array.from({ length: 1_000 }, (_, index) =>
      alert({
        labels: {
          alertname,
          severity: 'critical',
          area: 'deliveries',
          account: 'production',
          destination: 'd'.repeat(60),
        },
        annotations,
        generatorURL: `http://prometheus.example.com/graph?g0.expr=${encodeURIComponent(expr)}&g0.tab=1`,
        fingerprint: String(index).padStart(16, '0'),
      }),
    );
    expect((await notify(notification(...many))).status).toBe(202);
    expect(alerts).toHaveLength(1_000);
  });

  test('allowed nesting is accepted', async () => {
    const { notify } = await hookWorld();
    expect((await notify({ ...notification(alert()), more: JSON.parse(deep(31)) as object })).status).toBe(202);
  });

  test('nesting inside of a string is text', async () => {
    const { notify } = await hookWorld();
    expect((await notify({ ...notification(alert()), groupKey: deep(100) })).status).toBe(202);
  });

  test.each<[string, object]>([
    ['a callback without its message', failureCallback({ sourceMessageId: undefined })],
    ['a dlqId that is no id', failureCallback({ dlqId: 'dlq 1\n' })],
    ['a dlqId of another type', failureCallback({ dlqId: ['dlq-1'] })],
    ['an empty dlqId', failureCallback({ dlqId: '' })],
    ['an endless dlqId', failureCallback({ dlqId: 'x'.repeat(257) })],
  ])('%s', async (_what, body) => {
    const { callback, deadLetters } = await hookWorld();
    expect((await callback(body)).status).toBe(400);
    expect(deadLetters).toEqual([]);
  });

  test('a body in gzip, or one that is not UTF-8', async () => {
    const { post } = await hookWorld();
    const path = '/hooks/alertmanager/opsd';
    const headers = { 'Content-Encoding': 'gzip' };
    expect((await post(path, '{}', { token: AM_TOKEN, headers })).status).toBe(415);
    const latin = Buffer.from([0x22, 0xff, 0x22]) as unknown as string;
    expect((await post(path, latin, { token: AM_TOKEN })).status).toBe(400);
  });

  test('a body that ends early', async () => {
    const { address, said } = await hookWorld();
    raw(address, `${BEGINNING}{"version"`).end();
    await until({ what: 'it is counted' }, () => said.some((event) => event.type === 'hook.answered'));
    expect(said).toMatchObject([{ code: 400, refused: 'malformed' }]);
  });
});

describe('rejected callers', () => {
  test.each<[string, string | undefined]>([
    ['no token', undefined],
    ['another token', 'Bearer guess'],
    ['an empty token', 'Bearer '],
    ['the beginning of the token', `Bearer ${AM_TOKEN.slice(0, -1)}`],
    ['more than the token', `Bearer ${AM_TOKEN}x`],
    ['the token of another hook', `Bearer ${CALLBACK_TOKEN}`],
    ['the token without its scheme', AM_TOKEN],
    ['basic authentication', `Basic ${Buffer.from(`opsd:${AM_TOKEN}`).toString('base64')}`],
  ])('%s', async (_what, authorization) => {
    const { post, alerts, said } = await hookWorld();
    const headers: Record<string, string> = authorization === undefined ? {} : { Authorization: authorization };
    const answer = await post('/hooks/alertmanager/opsd', JSON.stringify(notification(alert())), { headers });
    expect(answer).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } });
    expect(answer.text).not.toContain('guess');
    expect(alerts).toEqual([]);
    expect(said).toMatchObject([{ type: 'hook.answered', code: 401, refused: 'unauthorized' }]);
  });

  test('by a secret that is empty', async () => {
    const { notify } = await hookWorld({ amToken: Secret.of('\n\n') });
    expect((await notify(notification(), '')).status).toBe(401);
  });

  test('too many wrong tokens from an address are rejected; the right one is not', async () => {
    const { notify, said } = await hookWorld();
    for (let n = 0; n < 10; n++) expect((await notify(notification(), `wrong-${n}`)).status).toBe(401);
    expect((await notify(notification(), 'wrong-10')).status).toBe(429);
    expect((await notify(notification(), 'wrong-0')).status, 'it is known').toBe(401);
    expect(said.filter((event) => event.type === 'hook.answered').map(({ code }) => code)).toContain(429);
    expect((await notify(notification())).status).toBe(202);
  });

  test('before a byte of their body is read', async () => {
    const { address } = await hookWorld();
    const head = 'POST /hooks/callbacks/production HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n';
    const socket = raw(address, head);
    await until({ what: 'the answer' }, () => socket.received.includes('\r\n\r\n'));
    expect(socket.received).toMatch(/^HTTP\/1\.1 401 [^]*Connection: close/i);
  });

  test.each([
    '/',
    '/metrics',
    '/-/healthy',
    '/api/v1/status',
    '/hooks',
    '/hooks/alertmanager',
    '/hooks/alertmanager/',
    '/hooks/alertmanager/opsd/',
    '/hooks/alertmanager/nobody',
    '/hooks/alertmanager/production',
    '/hooks/alertmanager/%6fpsd',
    '/hooks/callbacks/opsd',
    '/hooks/callbacks/canary-am-4711',
    '/hooks/callbacks/__proto__',
    '/hooks/alertmanager/../callbacks/production',
  ])('%s is not a hook', async (path) => {
    const { post, said } = await hookWorld();
    const answer = await post(path, '{}', { token: AM_TOKEN });
    expect(answer).toMatchObject({ status: 404, text: 'No hook at this path.\n' });
    expect(said).toEqual([{ type: 'hook.answered', hook: 'other', code: 404 }]);
  });

  test.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])('%s is rejected', async (method) => {
    const { post } = await hookWorld();
    const answer = await post('/hooks/alertmanager/opsd', '', { method, token: AM_TOKEN });
    expect(answer).toMatchObject({ status: 405, headers: { allow: 'POST' } });
  });

  test('when too many send at the same time', async () => {
    const { address, notify, said } = await hookWorld();
    const slow = Array.from({ length: 16 }, () => raw(address, `${BEGINNING}{`));
    const answer = await until({ what: 'the seventeenth is told to come again' }, async () => {
      const got = await notify(notification());
      return got.status === 503 ? got : undefined;
    });
    expect(answer.headers['retry-after']).toBe('1');
    expect(said.at(-1)).toMatchObject({ code: 503, refused: 'busy' });
    for (const socket of slow) socket.destroy();
    await until({ what: 'the next is taken' }, async () => (await notify(notification())).status === 202);
  });

  test('when they are not HTTP', async () => {
    const { address } = await hookWorld();
    const socket = raw(address, 'hello\r\n\r\n');
    await until({ what: 'the answer' }, () => socket.received !== '');
    expect(socket.received).toMatch(/^HTTP\/1\.1 400 [^]*not a valid HTTP\/1\.1 request/);
  });
});

describe('signatures', () => {
  const url = 'https://hooks.example.com/hooks/callbacks/production';
  const keys = Secret.of(`${SIGNING_KEY}\ncanary-key-next\n`);
  const body = JSON.stringify(failureCallback());
  const world = () => hookWorld({ callbacks: { signature: { keys, url } } });

  test('by the current key and by the next one are accepted', async () => {
    const { callback, deadLetters } = await world();
    expect((await callback(body, { 'Svc-Signature': signed(body) })).status).toBe(202);
    const next = signed(body, { jti: 'jwt-2' }, { key: 'canary-key-next' });
    expect((await callback(body, { 'Svc-Signature': next })).status).toBe(202);
    expect(deadLetters).toHaveLength(2);
  });

  test.each<[string, string | undefined]>([
    ['none', undefined],
    ['an empty one', ''],
    ['no JWT', 'abc'],
    ['another key', signed(body, {}, { key: 'guess' })],
    ['an empty key', signed(body, {}, { key: '' })],
    ['no algorithm', signed(body, {}, { alg: 'none' })],
    ['another algorithm', signed(body, {}, { alg: 'HS512' })],
    ['another body', signed(`${body} `)],
    ['no body', signed(body, { body: undefined })],
    ['one that has expired', signed(body, { exp: 1_763_000_000 })],
    ['one without an end', signed(body, { exp: undefined })],
    ['an end that is text', signed(body, { exp: '9999999999' })],
    ['one that is not valid yet', signed(body, { nbf: 1_900_000_000 })],
    ['one for another address', signed(body, { sub: 'https://elsewhere.example.com/' })],
    ['one without an id', signed(body, { jti: undefined })],
    ['one with a part too many', `${signed(body)}.x`],
  ])('%s is rejected', async (_what, signature) => {
    const { callback, deadLetters, said } = await world();
    const answer = await callback(body, signature === undefined ? {} : { 'Svc-Signature': signature });
    expect(answer).toMatchObject({ status: 401 });
    expect(deadLetters).toEqual([]);
    expect(said).toMatchObject([{ type: 'hook.answered', code: 401, refused: 'signature' }]);
  });

  test('do not replace the token', async () => {
    const { post, deadLetters } = await world();
    const headers = { 'Svc-Signature': signed(body) };
    expect((await post('/hooks/callbacks/production', body, { headers })).status).toBe(401);
    expect(deadLetters).toEqual([]);
  });

  test('that were accepted are known, and need not be sent again', async () => {
    const { callback, deadLetters, said, clock } = await world();
    const headers = { 'Svc-Signature': signed(body) };
    expect((await callback(body, headers)).status).toBe(202);
    expect((await callback(body, headers)).status).toBe(200);
    expect(deadLetters).toHaveLength(1);
    expect(said.at(-1)).toMatchObject({ code: 200, refused: 'replay' });
    await clock.advance(361_000);
    expect((await callback(body, headers)).status).toBe(401);
  });

  test('that could not be stored are accepted when they come again', async () => {
    const { callback, store } = await world();
    const headers = { 'Svc-Signature': signed(body) };
    store.isBroken = true;
    expect((await callback(body, headers)).status).toBe(503);
    store.isBroken = false;
    expect((await callback(body, headers)).status).toBe(202);
  });
});

test('no secret, body or query in any line of the log, in any event, or in the ledger', async () => {
  const { callback, notify, post, log, said, deadLetters, alerts } = await hookWorld();
  await notify(notification(alert({ annotations: { summary: BODY } })));
  await notify(`${AM_TOKEN} ${BODY}`);
  await notify(notification(), `${AM_TOKEN}-wrong`);
  await callback(failureCallback());
  await callback(`{"body":"${BODY}"}`);
  await post(`/hooks/callbacks/production?token=${QUERY}`, BODY, { token: 'guess' });
  await post(`/hooks/${CALLBACK_TOKEN}`, '{}');
  const seen = { log: log.join(''), said: JSON.stringify(said), kept: JSON.stringify([deadLetters, alerts]) };
  expect(seen.log).toContain('hook request handled');
  for (const [place, text] of Object.entries(seen)) {
    for (const canary of [...CANARIES, BODY, QUERY, Buffer.from(BODY).toString('base64')]) {
      expect(text.includes(canary), `${canary} in ${place}`).toBe(false);
    }
  }
});
