/** Every address over real HTTP: its response, methods, headers and shape. */
import { gunzipSync } from 'node:zlib';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { acceptsGzip } from '#operate/http/reply.ts';
import { tempDir } from '../../support/temp-dir.ts';
import type { ServerDeps } from '#operate/server.ts';
import { POLICY, RUN, busyWorld } from './busy-world.ts';
import { ask, ledger, NOW, proposal, scrapeBody, serving, storedPlan, world } from './world.ts';

describe('reading', () => {
  test.each([
    ['/', 'text/html; charset=utf-8'],
    ['/metrics', 'text/plain; version=0.0.4'],
    ['/sources', 'text/html; charset=utf-8'],
    ['/policies', 'text/html; charset=utf-8'],
    ['/-/healthy', 'text/plain; charset=utf-8'],
    ['/-/ready', 'text/plain; charset=utf-8'],
    ['/api/v1/status', 'application/json; charset=utf-8'],
    ['/api/v1/sources', 'application/json; charset=utf-8'],
    ['/api/v1/policies', 'application/json; charset=utf-8'],
    ['/api/v1/actions', 'application/json; charset=utf-8'],
    ['/api/v1/labels', 'application/json; charset=utf-8'],
  ])('%s answers GET and HEAD, and nothing else', async (path, type) => {
    const { address } = await serving(busyWorld());
    const got = await ask(address, path);
    expect(got.status).toBe(200);
    expect(got.headers).toMatchObject({
      'content-type': type,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-length': String(got.body.length),
    });
    expect(got.headers['content-security-policy']).toContain("default-src 'none'");
    expect(got.body.length).toBeGreaterThan(0);

    const head = await ask(address, path, { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.headers['content-length']).toBe(got.headers['content-length']);
    expect(head.body.length).toBe(0);

    const posted = await ask(address, path, { method: 'POST', body: 'x' });
    expect(posted.status).toBe(405);
    expect(posted.headers['allow']).toBe('GET, HEAD');
    expect(posted.text).toContain(`${path} accepts GET, HEAD, not POST.`);
  });

  test('an unknown path lists the known ones', async () => {
    const { address } = await serving(world());
    const page = await ask(address, '/metric');
    expect(page.status).toBe(404);
    expect(page.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(page.text).toContain('Not found: /metric. Available paths: / /incidents /incidents/{id}');

    const api = await ask(address, '/api/v1/nothing?x=1');
    expect(api.status).toBe(404);
    expect(JSON.parse(api.text)).toEqual({
      error: { code: 'not_found', message: expect.stringContaining('Not found: /api/v1/nothing.') as string },
    });
  });

  test('health and readiness use status and words', async () => {
    const { address } = await serving(
      world({
        health: () => ({ healthy: false, detail: 'no tick for 40 s' }),
        readiness: () => ({ ready: false, detail: 'first round' }),
      }),
    );
    expect(await ask(address, '/-/healthy')).toMatchObject({ status: 503, text: 'not healthy: no tick for 40 s\n' });
    expect(await ask(address, '/-/ready')).toMatchObject({ status: 503, text: 'not ready: first round\n' });
    expect(await ask(address, '/')).toMatchObject({ status: 200 });
  });

  test('an absolute target is its path', async () => {
    const { address } = await serving(world());
    expect(await ask(address, `${address}/-/healthy?probe=1`)).toMatchObject({ status: 200 });
  });
});

describe('/metrics', () => {
  const body = `# HELP a b\n${'a{b="c"} 1\n'.repeat(500)}`;
  const metrics = () => Promise.resolve(scrapeBody(body));

  test('is gzipped for clients that accept it', async () => {
    const { address } = await serving(world({ metrics }));
    const plainly = await ask(address, '/metrics');
    expect(plainly.headers['content-encoding']).toBeUndefined();
    expect(plainly.headers['vary']).toBe('Accept, Accept-Encoding');
    expect(plainly.text).toBe(body);
    const packed = await ask(address, '/metrics', { headers: { 'Accept-Encoding': 'gzip' } });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(packed.body.length).toBeLessThan(body.length / 4);
    expect(gunzipSync(packed.body).toString('utf8')).toBe(body);
  });

  test.each([
    ['gzip', true],
    ['deflate, GZIP;q=0.5', true],
    ['*', true],
    ['x-gzip', true],
    ['gzip;q=0', false],
    ['gzip;q=0, *', false],
    ['identity', false],
    ['gzip;q=none', false],
    [undefined, false],
  ])('Accept-Encoding %s: %s', (header, accepted) => {
    expect(acceptsGzip(header)).toBe(accepted);
  });

  test('a failure is a 500 without details, which are in the log', async () => {
    const deps = world({ metrics: () => Promise.reject(new Error('collect() of x threw')) });
    const { address } = await serving(deps);
    const answer = await ask(address, '/metrics');
    expect(answer.status).toBe(500);
    expect(answer.text).toBe('The daemon could not answer this request. Its log has the reason.\n');
    expect(deps.log.join('')).toContain('collect() of x threw');
  });
});

describe('the JSON API', () => {
  async function get(path: string, deps = busyWorld()): Promise<unknown> {
    const { address } = await serving(deps);
    return JSON.parse((await ask(address, path)).text);
  }

  test('status', async () => {
    expect(await get('/api/v1/status')).toEqual({
      at: NOW,
      version: '0.1.0',
      startedAt: NOW - 3_600_000,
      healthy: true,
      healthDetail: 'the scheduler is running',
      ready: true,
      readyDetail: 'first round done',
      unknownOutcomes: 0,
      conditions: [],
      pauses: [],
      pendingPlans: 0,
      verdict: {
        level: 'trouble',
        sentence: 'production urlGroups is failing (forbidden): no success so far; and 1 more.',
        problems: [
          {
            level: 'trouble',
            text: 'production urlGroups is failing (forbidden)',
            detail: 'no success so far',
            path: '/sources#source-production-urlGroups',
          },
          {
            level: 'attention',
            text: 'resume-billing is configured as enforce and runs as audit',
            detail: 'engine.mode is audit',
            path: '/policies/resume-billing',
          },
        ],
      },
      outages: [],
      outagesUnknown: [],
      accounts: [
        {
          name: 'production',
          messageApiUrl: 'https://eu.example',
          managementApiUrl: 'https://api.example',
          usage: [{ api: 'message', usedToday: 12, allowedPerDay: 200_000 }],
        },
        {
          name: 'staging',
          messageApiUrl: 'https://eu.example',
          usage: [{ api: 'message', usedToday: 12, allowedPerDay: 200_000 }],
        },
      ],
      sources: { total: 7, ok: 1, pending: 4, failing: 1, off: 1 },
      reconciliation: [],
      policies: { total: 1, audit: 1 },
    });
  });

  test('sources', async () => {
    const { at, sources } = (await get('/api/v1/sources')) as { at: number; sources: unknown[] };
    expect(at).toBe(NOW);
    expect(sources).toHaveLength(7);
    expect(sources[0]).toEqual({
      account: 'production',
      collector: 'logs',
      schedule: 'every 1m',
      intervalMs: 60_000,
      maxStalenessMs: 180_000,
      state: 'ok',
      runs: 1,
      failures: 0,
      lastRunAt: NOW - 5_000,
      lastDurationMs: 31,
      lastSuccessAt: NOW - 5_000,
      lastRunFailed: false,
      rows: 1,
      dropped: 0,
      countedUntilAt: NOW - 20_000,
      lagMs: 20_000,
    });
    expect(sources[4]).toMatchObject({
      collector: 'urlGroups',
      state: 'failing',
      failures: 1,
      lastFailure: { at: NOW, reason: 'forbidden', message: 'HTTP 403' },
    });
    expect(sources[6]).toMatchObject({ state: 'off', off: 'no vector index is configured' });
  });

  test('policies', async () => {
    const { policy: _policy, account: _account, ...run } = RUN;
    const shown = { ...POLICY, lastRun: { ...run, trigger: 'schedule' } };
    expect(await get('/api/v1/policies')).toEqual({ at: NOW, policies: [shown] });
    expect(await get('/api/v1/policies/resume-billing')).toMatchObject({ at: NOW, policy: shown });
    expect(await get('/api/v1/policies/x')).toMatchObject({ error: { code: 'unknown_policy' } });
  });

  test.each(['rejected', 'expired'] as const)(
    'a run whose plan is %s is not pending approval any more',
    async (state) => {
      const stored = storedPlan({ state, by: 'tom', reason: 'not now', decidedAt: NOW });
      const run = { ...RUN, outcome: 'pending_approval' as const, detail: 'approval: the plan waits' };
      const deps = busyWorld({
        ledger: ledger({
          lastRuns: async () => [run],
          runs: async () => [run, { ...run, id: 0 }],
          storedPlans: async (states) => (states.includes(state) ? [stored] : []),
        }),
      });
      const detail = `approval: plan ${stored.plan.id} is ${state} by tom: not now`;
      const lastRun = { outcome: 'held', detail };
      expect(await get('/api/v1/policies', deps)).toMatchObject({ policies: [{ lastRun }] });
      const runs = [lastRun, { outcome: 'pending_approval' }];
      expect(await get('/api/v1/policies/resume-billing', deps)).toMatchObject({ policy: { lastRun }, runs });
      expect(await get('/api/v1/runs', deps)).toMatchObject({ runs });
    },
  );

  test.each(['pending', 'approved'] as const)('the page of a policy links a plan that is %s', async (state) => {
    const stored = storedPlan({ state, approvedBy: 'tom', approvedAt: NOW, ...(state === 'approved' && { left: 1 }) });
    const storedPlans: ServerDeps['ledger']['storedPlans'] = async (states) => (states.includes(state) ? [stored] : []);
    const { address } = await serving(busyWorld({ ledger: ledger({ storedPlans }) }));
    const { text } = await ask(address, '/policies/resume-billing');
    expect(text).toContain('href="/plans/9f3c2a"');
    expect(text).toContain('<code>opsd reject 9f3c2a');
    expect(text.includes('by tom')).toBe(state === 'approved');
    expect(text.includes('1 of 2 actions left')).toBe(state === 'approved');
  });

  test('a run without an end is running', async () => {
    const { outcome: _outcome, finishedAt: _finishedAt, ...running } = RUN;
    const deps = busyWorld({
      ledger: ledger({ lastRuns: async () => [running] }),
    });
    expect(await get('/api/v1/policies', deps)).toMatchObject({ policies: [{ lastRun: { outcome: 'running' } }] });
  });

  test('actions', async () => {
    const { policy, account, action: type, target, items, workflowRunId, workflowUrl, attempt } = proposal();
    const shown = { runId: 1, policy, account, action: type, target, items, workflowRunId, workflowUrl, attempt };
    expect(await get('/api/v1/actions')).toEqual({
      at: NOW,
      actions: [
        { id: 2, at: NOW - 60_000, ...shown, outcome: 'pending' },
        {
          id: 1,
          at: NOW - 60_000,
          ...shown,
          outcome: 'accepted',
          outcomeAt: NOW - 59_000,
          detail: 'ok',
          newRunId: 'wfr_2',
        },
      ],
    });
    expect(await get('/api/v1/actions?limit=1')).toMatchObject({ actions: [{ id: 2 }] });
  });

  test.each(['0', '501', 'x', '1.5', ''])('limit=%s is rejected', async (limit) => {
    expect(await get(`/api/v1/actions?limit=${limit}`)).toEqual({
      error: { code: 'bad_request', message: 'limit must be an integer from 1 to 500.' },
    });
  });

  test.each(['/api/v1/policies', '/api/v1/actions'])('%s is unavailable without the store', async (path) => {
    const broken = (): never => {
      throw new Error('disk I/O error');
    };
    const { address } = await serving(
      world({ ledger: ledger({ recentActions: broken, lastRuns: broken, unknownOutcomes: broken }) }),
    );
    const answer = await ask(address, path);
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'store_unavailable' } });
    const first = (await ask(address, '/')).text;
    expect(first).toContain('The store is unavailable, so policies do not act and counters do not advance');
    expect(first).toContain('disk I/O error');
  });
});

describe('state', () => {
  const post = (body: unknown): { method: string; body: string } => ({ method: 'POST', body: JSON.stringify(body) });

  test('is copied and adopted over the unix socket alone', async () => {
    const asked: string[] = [];
    const state = {
      auditHead: async () => ({ sequence: 7, hash: 'abc' }),
      backup: async (path: string) => (asked.push(path), { bytes: 12 }),
      adopt: async (reason: string, by: string) => (asked.push(`${reason} by ${by}`), 'it was restored'),
      resetCounters: async () => [],
    };
    const deps = busyWorld({ state });
    const tcp = await serving(deps);
    const socket = await serving(deps, { socketPath: join(tempDir(), 's') });
    for (const [path, body] of [
      ['/api/v1/state/backup', { file: '/backup/copy.db' }],
      ['/api/v1/state/adopt', { reason: 'looked' }],
    ] as const) {
      expect((await ask(tcp.address, path, post(body))).status).toBe(403);
      expect((await ask(socket.address, path, post({}))).status).toBe(400);
    }
    expect((await ask(socket.address, '/api/v1/state/backup', post({ file: 'relative.db' }))).status).toBe(400);
    expect(asked).toEqual([]);
    const answers = [
      await ask(socket.address, '/api/v1/state/backup', post({ file: '/backup/copy.db' })),
      await ask(socket.address, '/api/v1/state/adopt', post({ reason: 'looked' })),
      await ask(tcp.address, '/api/v1/audit/head'),
    ];
    expect(answers.map(({ text }) => JSON.parse(text) as unknown)).toEqual([
      { bytes: 12 },
      { adopted: 'it was restored' },
      { head: { sequence: 7, hash: 'abc' } },
    ]);
    expect(asked).toEqual(['/backup/copy.db', 'looked by local']);
  });

  test('that cannot be copied or adopted has the reason', async () => {
    const refuse = (): never => {
      throw new Error('no room');
    };
    const state = {
      auditHead: async () => undefined,
      backup: async () => refuse(),
      adopt: refuse,
      resetCounters: refuse,
    };
    const socket = await serving(busyWorld({ state }), { socketPath: join(tempDir(), 's') });
    for (const path of ['/api/v1/state/backup', '/api/v1/state/adopt']) {
      const body = path.endsWith('backup') ? { file: '/x' } : { reason: 'x' };
      const answer = await ask(socket.address, path, post(body));
      expect(answer.status).toBe(409);
      expect(answer.text).toContain('no room');
    }
    expect(JSON.parse((await ask(socket.address, '/api/v1/audit/head')).text)).toEqual({ head: null });
  });
});
