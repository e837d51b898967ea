/** The hook for reports of deploys: who may send them, and which are valid. */
import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { Secret } from '#foundation/platform/secret.ts';
import { DEPLOY_KEY, DEPLOY_TOKEN, hookWorld, NOW } from './hook-world.ts';

const REPORT = { of: ['https://app.example.com/api/', 'APP.example.com'], version: 'v42' };
const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/hooks.md'), 'utf8');
type HookWorld = Awaited<ReturnType<typeof hookWorld>>;

const post = (w: HookWorld, body: object | string, token: string | undefined = DEPLOY_TOKEN, headers = {}) =>
  w.post('/hooks/deploy', typeof body === 'string' ? body : JSON.stringify(body), {
    headers,
    ...(token !== undefined && { token }),
  });

function signed(body: string, at = NOW, key = DEPLOY_KEY): Record<string, string> {
  const time = Math.floor(at / 1_000);
  const mac = createHmac('sha256', key).update(`${time}.${body}`).digest('hex');
  return { 'Opsd-Signature': `t=${time},v1=${mac}` };
}

const unsigned = async (w: HookWorld, body: string, headers: Record<string, string>) =>
  w.post('/hooks/deploy', body, { headers });

test('stores a deploy for each account, with the policies that wait for it', async () => {
  const w = await hookWorld();
  expect((await post(w, { ...REPORT, url: 'https://ci.example.com/42' })).status).toBe(202);
  const common = { of: ['https://app.example.com/api/', 'app.example.com'], version: 'v42', at: NOW };
  expect(w.deploys).toMatchObject([
    { ...common, account: 'production', url: 'https://ci.example.com/42', waiting: ['on-deploy'] },
    { ...common, account: 'staging', waiting: [] },
  ]);
  // The wait after the deploy, not the hook, decides when the run begins.
  expect(w.runs).toEqual([]);
});

test('takes the account, the time and the failure of a report', async () => {
  const w = await hookWorld();
  const at = new Date(NOW - 3_600_000).toISOString();
  expect((await post(w, { ...REPORT, account: 'staging', at, failed: true })).status).toBe(202);
  expect(w.deploys).toMatchObject([{ account: 'staging', at: NOW - 3_600_000, isRollback: true }]);
});

test.each([
  ['no JSON', '{', /JSON/],
  ['no version', { of: ['app.example.com'] }, /version/],
  ['no destination', { of: [], version: 'v42' }, /of must name at least one/],
  ['a path without a host', { of: ['/api'], version: 'v42' }, /of must be hosts or URL prefixes/],
  ['a URL with a secret', { of: ['https://user:pass@app.example.com/'], version: 'v42' }, /of must be hosts/],
  ['a query', { of: ['https://app.example.com/?token=1'], version: 'v42' }, /of must be hosts/],
  ['a script', { ...REPORT, url: 'javascript:alert(1)' }, /url must be an http or https address/],
  ['an unknown key', { ...REPORT, versions: 1 }, /versions/],
  ['a time in the future', { ...REPORT, at: '2026-11-18T10:36:00Z' }, /future/],
  ['a time of two days ago', { ...REPORT, at: '2026-11-16T10:30:00Z' }, /more than a day ago/],
  ['an impossible time', { ...REPORT, at: '2026-99-99T10:30:00Z' }, /at must be a time/],
])('rejects %s with what is wrong', async (_what, body, message) => {
  const w = await hookWorld();
  const answer = await post(w, body);
  expect(answer.status).toBe(400);
  expect(answer.text).toMatch(message);
  expect(w.deploys).toEqual([]);
});

test('rejects an unknown account with the known ones', async () => {
  const w = await hookWorld();
  const answer = await post(w, { ...REPORT, account: 'other' });
  expect([answer.status, answer.text]).toEqual([404, expect.stringContaining('production, staging')]);
});

test('a failure of the store is not the fault of the sender', async () => {
  const w = await hookWorld();
  w.store.isBroken = true;
  expect((await post(w, REPORT)).status).toBe(503);
});

describe('a sender', () => {
  test('without a token, or with a wrong one, is rejected', async () => {
    const w = await hookWorld();
    expect((await unsigned(w, JSON.stringify(REPORT), {})).status).toBe(401);
    expect((await post(w, REPORT, 'wrong')).status).toBe(401);
    expect(w.deploys).toEqual([]);
  });

  test('with a signature is accepted once', async () => {
    const w = await hookWorld();
    const body = JSON.stringify(REPORT);
    expect((await unsigned(w, body, signed(body))).status).toBe(202);
    expect((await unsigned(w, body, signed(body))).status).toBe(200);
    expect(w.deploys).toHaveLength(2);
  });

  test.each([
    ['of another body', signed('{}')],
    ['by another key', signed(JSON.stringify(REPORT), NOW, 'other')],
    ['of ten minutes ago', signed(JSON.stringify(REPORT), NOW - 600_000)],
    ['of ten minutes later', signed(JSON.stringify(REPORT), NOW + 600_000)],
    ['in another form', { 'Opsd-Signature': 'sha256=00' }],
  ])('with a signature %s is rejected, even with the token', async (_what, headers) => {
    const w = await hookWorld();
    const answer = await post(w, REPORT, DEPLOY_TOKEN, headers);
    expect([answer.status, w.deploys.length]).toEqual([401, 0]);
  });

  test('needs a signature if the hook has no token', async () => {
    const w = await hookWorld({ deploy: { token: undefined, signingKeys: Secret.of(DEPLOY_KEY) } });
    const body = JSON.stringify(REPORT);
    expect((await post(w, REPORT)).status).toBe(401);
    expect((await unsigned(w, body, signed(body))).status).toBe(202);
  });

  test('can be a step of GitHub Actions, or Argo CD, as docs/hooks.md shows', async () => {
    const w = await hookWorld();
    const blocks = [...PAGE.split('## Deploys')[1]!.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text]) => text!);
    const [step, argo] = blocks.map((text) => parse(text) as unknown);
    const [{ run }] = step as [{ readonly run: string }];
    const template = (argo as Record<string, string>)['template.opsd-deploy']!;
    const { body } = (parse(template) as { readonly webhook: { readonly opsd: { readonly body: string } } }).webhook
      .opsd;
    const sent = [/-d '(.*)'$/m.exec(run)![1]!, body].map((text) =>
      text.replace(/"\{\{.*?\}\}"|"\$\{\{.*?\}\}"/, '"9f3c2a"').replace(/\$\{\{.*?\}\}/, 'true'),
    );
    for (const report of sent) expect((await post(w, report)).status).toBe(202);
    expect(w.deploys.map(({ version, isRollback }) => [version, isRollback])).toEqual([
      ['9f3c2a', true],
      ['9f3c2a', true],
      ['9f3c2a', false],
      ['9f3c2a', false],
    ]);
  });

  test('can sign with openssl, as docs/hooks.md shows', async () => {
    const w = await hookWorld();
    const script = /^body=.*\n(?:.*\n)*?curl .*$/m
      .exec(PAGE)![0]
      .replace('$(date +%s)', String(NOW / 1_000))
      .replace(/curl .*/, `printf '%s\\n%s' "t=$t,v1=$mac" "$body"`);
    const [signature, body] = execFileSync('sh', ['-ec', script], { env: { ...process.env, KEY: DEPLOY_KEY } })
      .toString()
      .split('\n');
    expect((await unsigned(w, body!, { 'Opsd-Signature': signature! })).status).toBe(202);
  });
});
