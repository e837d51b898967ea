/** Every address over real HTTP: its response, methods, headers and shape. */
import { gunzipSync } from 'node:zlib';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COLLECTOR_NAMES } from '#foundation/domain/observation.ts';
import type { AccountReading } from '#foundation/domain/statistics.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { RunRecord } from '#automate/ledger/reports.ts';
import type { EngineCommands } from '#automate/ledger/commands.ts';
import { acceptsGzip } from '#operate/http/reply.ts';
import { readStatus } from '#operate/api/status.ts';
import { tempDir } from '../../support/temp-dir.ts';
import {
  action,
  ask,
  engine,
  ledger,
  NOW,
  plan,
  proposal,
  RESUME_BILLING,
  scrapeBody,
  serving,
  storedPlan,
  world,
  type World,
} from './world.ts';

const CANARY = `<script>alert("x")</script>'&`;

const POLICY: PolicyStatus = {
  ...RESUME_BILLING,
  owner: 'payments',
  description: 'Billing runs get more tries.',
  source: 'policies/billing.yaml:3',
  effectiveMode: 'audit',
  reducedBy: 'engine.mode is audit',
  nextRunAt: NOW + 60_000,
};

const RUN: RunRecord = {
  id: 4,
  policy: 'resume-billing',
  account: 'production',
  planId: '9f3c2a',
  trigger: { kind: 'schedule' },
  at: NOW - 120_000,
  finishedAt: NOW - 119_000,
  outcome: 'acted',
  matched: 209,
  acted: 27,
  backlog: 182,
};

const PLANNED: Partial<EngineCommands> = {
  plan: (policy) =>
    policy === POLICY.name ? Promise.resolve({ ok: true, plan: plan() }) : engine().plan(policy, ASKED, STILL),
};
const ASKED = { by: 'local', save: false };
const STILL = new AbortController().signal;

function busyWorld(overrides: Partial<World> = {}): World {
  const deps = world({
    policies: () => [POLICY],
    engine: engine(PLANNED),
    ledger: ledger({
      lastRuns: () => [RUN],
      recentActions: (limit) =>
        [
          action({ id: 2 }),
          action({ outcome: 'accepted', outcomeAt: NOW - 59_000, detail: 'ok', newRunId: 'wfr_2' }),
        ].slice(0, limit),
    }),
    accounts: [
      { name: 'production', messageApiUrl: 'https://eu.example', managementApiUrl: 'https://api.example' },
      { name: 'staging', messageApiUrl: 'https://eu.example' },
    ],
    apiUsage: () => [{ api: 'message', usedToday: 12, allowedPerDay: 200_000 }],
    links: [{ label: 'Embedded service', href: 'http://127.0.0.1:8080/' }],
    ...overrides,
  });
  for (const collector of COLLECTOR_NAMES) {
    const timing = { schedule: 'every 1m', intervalMs: 60_000, maxStalenessMs: 180_000 };
    const off = collector === 'vectorStats' ? { off: 'no vector index is configured' } : {};
    deps.board.register({ account: 'production', collector, ...timing, ...off });
  }
  deps.board.publish(
    { account: 'production', collector: 'logs', at: NOW - 5_000, rows: [{ watermark: NOW - 20_000 }], dropped: 0 },
    31,
  );
  deps.board.logLag.take('production', NOW - 20_000);
  deps.board.fail('production', 'urlGroups', { reason: 'forbidden', message: 'HTTP 403', durationMs: 8 });
  return deps;
}

describe('reading', () => {
  test.each([
    ['/', 'text/html; charset=utf-8'],
    ['/metrics', 'text/plain; version=0.0.4'],
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
    expect(page.text).toContain('Not found: /metric. Available paths: / /metrics /-/healthy');

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
            text: 'production urlGroups is failing (forbidden): no success so far',
            anchor: 'source-production-urlGroups',
          },
          {
            level: 'attention',
            text: 'resume-billing is configured as enforce and runs as audit: engine.mode is audit',
            anchor: 'policy-resume-billing',
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
    expect(await get('/api/v1/policies/resume-billing')).toEqual({ at: NOW, policy: shown });
    expect(await get('/api/v1/policies/x')).toMatchObject({ error: { code: 'unknown_policy' } });
  });

  test('a run without an end is running', async () => {
    const { outcome: _outcome, finishedAt: _finishedAt, ...running } = RUN;
    const deps = busyWorld({
      ledger: ledger({ lastRuns: () => [running] }),
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
    expect((await ask(address, '/')).text).toContain('The store cannot be read: disk I/O error.');
  });
});

describe('state', () => {
  const post = (body: unknown): { method: string; body: string } => ({ method: 'POST', body: JSON.stringify(body) });

  test('is copied and adopted over the unix socket alone', async () => {
    const asked: string[] = [];
    const state = {
      auditHead: () => ({ sequence: 7, hash: 'abc' }),
      backup: async (path: string) => (asked.push(path), { bytes: 12 }),
      adopt: (reason: string, by: string) => (asked.push(`${reason} by ${by}`), 'it was restored'),
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
    const state = { auditHead: () => undefined, backup: async () => refuse(), adopt: refuse };
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

describe('the page of active policies', () => {
  const GROUP = "https://app.example.com/x'; reboot '";

  async function page(overrides: Partial<World>): Promise<string> {
    const { address } = await serving(busyWorld(overrides));
    return (await ask(address, '/')).text.replaceAll(/\s+/g, ' ');
  }

  test('shows ten further problems, and collapses the others', async () => {
    const conditions = Array.from({ length: 50 }, (_, index) => ({
      key: `held/p-${index}`,
      severity: 'warning' as const,
      summary: `p-${index} is held`,
      detail: 'odd',
      since: NOW,
    }));
    const markup = await page({ engine: engine({ conditions: () => conditions }) });
    const [open, collapsed] = [/<ul aria-label="Also">.*?<\/ul>/, /<details>.*?<\/details>/].map(
      (part) => part.exec(markup)?.[0] ?? '',
    );
    const { problems } = readStatus(busyWorld({ engine: engine({ conditions: () => conditions }) }), 20).verdict;
    expect(open?.match(/<li>/g)).toHaveLength(10);
    expect(collapsed?.match(/<li>/g)).toHaveLength(problems.length - 11);
    expect(collapsed).toContain(`<summary>${problems.length - 11} more</summary>`);
  });

  test('shows active conditions first, with the next command', async () => {
    const halted = {
      key: `halted/resume-billing/${GROUP}`,
      severity: 'warning',
      policy: 'resume-billing',
      group: GROUP,
      summary: 'resume-billing has halted',
      detail: '3 of the first 3 failed',
      since: NOW - 300_000,
    } as const;
    const told = { ...halted, key: 'paused/policy/p', summary: 'Paused: policy/p' };
    const markup = await page({
      engine: engine({ conditions: () => [halted, told] }),
      ledger: ledger({ pauses: () => [{ scope: 'policy/p', reason: 'odd', at: NOW - 60_000, by: 'engine' }] }),
    });
    expect(markup.indexOf('id="conditions"')).toBeLessThan(markup.indexOf('id="policies"'));
    expect(markup).toContain('the daemon paused itself');
    expect(markup, 'a pause is one row').not.toContain('Paused: policy/p');
    expect(markup).toContain('<code>opsd unpause --policy p --reason TEXT</code>');
    expect(markup).toContain('3 of the first 3 failed');
    // A workflow's name must not become a separate command in the shell of an operator who copies this.
    const word = String.raw`'https://app.example.com/x'\''; reboot '\'''`.replaceAll("'", '&#39;');
    expect(markup).toContain(`<code>opsd unpause --policy resume-billing --group ${word} --reason TEXT</code>`);
  });

  test('has the next command of each condition, as this process was started', async () => {
    const kinds = ['held', 'approval', 'unknown', 'reload'];
    const of = { severity: 'warning', policy: 'p', summary: 's', detail: 'd', since: NOW } as const;
    const markup = await page({
      engine: engine({ conditions: () => kinds.map((kind) => ({ ...of, key: `${kind}/p` })) }),
      ledger: ledger({ storedPlans: () => [storedPlan({ plan: plan({ policy: 'p' }) })] }),
      command: (text) => `npm run --silent opsd -- ${text} --socket /s`,
    });
    for (const command of ['plan p', 'approve 9f3c2a', 'audit --policy p --since 2h', 'reload']) {
      expect(markup).toContain(`<code>npm run --silent opsd -- ${command} --socket /s</code>`);
    }
    expect(markup).not.toContain('<code>opsd');
  });

  test('rewrites the commands in texts as this process was started', async () => {
    const detail = '183 matched; `opsd approve 9f3c2a`, or `opsd reject 9f3c2a`.';
    const markup = await page({
      engine: engine({
        conditions: () => [{ key: 'held/p', severity: 'warning', policy: 'p', summary: 's', detail, since: NOW }],
      }),
      ledger: ledger({ pauses: () => [{ scope: 'engine', reason: 'odd', at: NOW - 60_000, by: 'engine' }] }),
      command: (text) => `npm run --silent opsd -- ${text} --socket /s`,
    });
    for (const command of ['approve 9f3c2a', 'reject 9f3c2a', 'unpause --reason TEXT']) {
      expect(markup).toContain(`\`npm run --silent opsd -- ${command} --socket /s\``);
    }
    expect(markup).not.toContain('`opsd');
  });

  test('shows pending plans, their reason, and how to decide', async () => {
    const needsApproval = { guard: 'tripwire', reason: '183 matched, at most 100' };
    const asked: unknown[] = [];
    const waiting = [storedPlan({ plan: plan({ needsApproval }) })];
    const markup = await page({ ledger: ledger({ storedPlans: (states) => (asked.push(states), waiting) }) });
    expect(asked).toEqual([['pending']]);
    expect(markup).toContain('tripwire: 183 matched, at most 100');
    expect(markup).toContain('opsd approve 9f3c2a</code>');
    expect(markup).toContain('opsd reject 9f3c2a</code>');
    expect(markup).toContain('2 actions');
  });

  test('shows campaigns by group: state, step, verified results, end', async () => {
    const campaign = {
      id: 'resume-billing/1',
      policy: 'resume-billing',
      account: 'production',
      group: 'https://app.example.com/invoice',
      state: 'halted',
      step: 4,
      size: 27,
      begunAt: NOW - 3_600_000,
      until: NOW + 1_500_000,
      halts: 1,
      recent: [],
      judged: 16,
      verified: 13,
      reason: '3 of the last 3 failed',
      breaker: 'open',
    } as const;
    const held = { guard: 'quota', reason: '429', since: NOW - 600_000 };
    const pending = { trigger: 'alert', alert: 'BillingDown', count: 3, since: NOW - 120_000 } as const;
    const markup = await page({
      policies: () => [{ ...POLICY, campaigns: [campaign], held, pending, probationLeft: 2 }],
    });
    expect(markup).toContain('alert BillingDown and 2 more, for 2 min, runs when the hold by quota ends');
    const told = ['at most 27', '13 of 16', 'the breaker is open', 'in 25 min', '3 of the last 3 failed'];
    for (const text of told) expect(markup).toContain(text);
    expect(markup).toContain('held for 10 min by quota');
    expect(markup).toContain('on probation: 2 more audit runs');
  });

  test('omits absent parts', async () => {
    const markup = await page({});
    for (const id of ['conditions', 'plans', 'campaigns']) expect(markup).not.toContain(`id="${id}"`);
  });
});

describe('the page', () => {
  async function page(deps: World, path = '/'): Promise<string> {
    const { address } = await serving(deps);
    return (await ask(address, path)).text;
  }

  test('escapes every external name and text', async () => {
    const hostile = { policy: CANARY, account: CANARY, dlqId: CANARY, workflowUrl: CANARY };
    const deps = world({
      policies: () => [
        { ...POLICY, name: CANARY, owner: CANARY, description: CANARY, source: CANARY, reducedBy: CANARY },
      ],
      ledger: ledger({
        lastRuns: () => [{ ...RUN, policy: CANARY, outcome: 'held', detail: CANARY }],
        recentActions: () => [action({ proposal: proposal(hostile), detail: CANARY, newRunId: CANARY })],
      }),
      accounts: [{ name: CANARY, messageApiUrl: CANARY, managementApiUrl: CANARY }],
      links: [{ label: CANARY, href: CANARY }],
      readiness: () => ({ ready: false, detail: CANARY }),
    });
    deps.board.register({ account: CANARY, collector: 'logs', schedule: CANARY, intervalMs: 1, maxStalenessMs: 1 });
    deps.board.fail(CANARY, 'logs', { reason: CANARY, message: CANARY, durationMs: 1 });
    const markup = await page(deps);
    expect(markup).not.toContain('<script');
    expect(markup).not.toContain('"x"');
    expect(markup.split('&lt;script&gt;').length).toBeGreaterThan(15);
  });

  test('allows no script, and its one style by its hash', async () => {
    const { address } = await serving(world());
    const answer = await ask(address, '/');
    const policy = answer.headers['content-security-policy'] as string;
    expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/]+=*'; /);
    const style = /<style>([^]*)<\/style>/.exec(answer.text)![1]!;
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(style));
    expect(policy).toContain(Buffer.from(digest).toString('base64'));
    expect(answer.text).not.toMatch(/ style="| on\w+="/);
  });

  test('a link that is not a page is text', async () => {
    const markup = await page(
      world({
        links: [
          { label: 'x', href: 'javascript:alert(1)' },
          { label: 'y', href: '//a.b' },
        ],
      }),
    );
    expect(markup).not.toContain('href="javascript:');
    expect(markup).not.toContain('href="//');
  });

  test('explains empty sections', async () => {
    const markup = await page(world());
    expect(markup).toContain('No collector is registered yet');
    expect(markup).toContain('No policy is configured');
    expect(markup).toContain('No actions so far');
    expect(markup).toContain('No account is configured');
  });

  test('shows sources, policies, actions, accounts and links', async () => {
    const markup = await page(busyWorld());
    for (const text of [
      'Trouble:',
      '5 s ago',
      'counted until',
      '20 s behind',
      'forbidden: HTTP 403',
      'no vector index is configured',
      'Billing runs get more tries.',
      'policies/billing.yaml:3',
      'configured as enforce: engine.mode is audit',
      '209 matched, 27 acted on, 182 left',
      'in 60 s',
      'dlq-8812',
      'pending',
      'new run',
      'https://api.example',
      'message 12 of 200,000',
      'href="http://127.0.0.1:8080/"',
      '<time datetime="2026-11-18T10:29:55.000Z">2026-11-18 10:29:55Z</time>',
    ]) {
      expect(markup).toContain(text);
    }
  });

  test('every table has a caption and scopes, and every link within the page has its target', async () => {
    const markup = await page(busyWorld());
    const count = (pattern: RegExp): number => markup.match(pattern)?.length ?? 0;
    expect(count(/<table/g)).toBe(4);
    expect(count(/<caption>/g)).toBe(4);
    expect(count(/<th /g)).toBe(count(/ scope="(col|row)"/g));
    for (const [, anchor] of markup.matchAll(/href="#([^"]+)"/g)) expect(markup).toContain(`id="${anchor}"`);
  });

  test('reloads itself only when asked', async () => {
    expect(await page(world())).not.toContain('http-equiv="refresh"');
    expect(await page(world(), '/?refresh=10')).toContain('<meta http-equiv="refresh" content="10"');
    expect(await page(world(), '/?refresh=0')).not.toContain('http-equiv="refresh"');
    expect(await page(world(), '/?refresh=x"><script>')).not.toContain('<script');
  });
});

describe('log and statistics of an hour', () => {
  const hour = Date.UTC(2026, 10, 18, 9);

  async function pageOf(reconciled: NonNullable<AccountReading['reconciled']>): Promise<string> {
    const deps = busyWorld();
    const about = { account: 'production', collector: 'accountStats', at: NOW, dropped: 0 } as const;
    deps.board.publish({ ...about, rows: [{ reconciled }] }, 12);
    const server = await serving(deps);
    return (await ask(server.address, '/')).text;
  }

  /** Returns the visible cells of a table row. */
  function cellsOf(markup: string, anchor: string): string[] {
    const row = new RegExp(`<tr role="row" id="${anchor}">(.*?)</tr>`, 's').exec(markup)?.[1] ?? '';
    const cells = [...row.matchAll(/<t[hd] [^>]*>(.*?)<\/t[hd]>/gs)];
    return cells.map(([, cell]) =>
      cell!
        .replaceAll(/<[^>]+>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    );
  }

  test('are in a table: state, hour, both figures, their difference, and the verdict', async () => {
    const markup = await pageOf([
      { state: 'CREATED', hour, logs: 1_200, statistics: 1_200, agrees: true, isLasting: false },
      { state: 'DELIVERED', hour, logs: 1_000, statistics: 1_080, agrees: false, isLasting: false },
      { state: 'ERROR', hour, logs: 2_000, statistics: 500, agrees: false, isLasting: true },
      { state: 'CANCELLED', hour, logs: 0, statistics: 40, agrees: false, isLasting: false },
    ]);
    const window = '2026-11-18 09:00–10:00';
    expect(cellsOf(markup, 'reconciliation-production-CREATED')).toEqual([
      'CREATED production',
      window,
      '1,200',
      '1,200',
      '0',
      'they agree',
    ]);
    expect(cellsOf(markup, 'reconciliation-production-DELIVERED').slice(2)).toEqual([
      '1,000',
      '1,080',
      '+80 (+8.0 %)',
      'they differ The previous hour does not show this difference.',
    ]);
    expect(cellsOf(markup, 'reconciliation-production-ERROR').slice(2)).toEqual([
      '2,000',
      '500',
      '−1,500 (−75.0 %)',
      'they differ The previous hour differs as well: one of them is incomplete.',
    ]);
    expect(cellsOf(markup, 'reconciliation-production-CANCELLED')[4]).toBe('+40');
    // The verdict at the top links to its row.
    expect(markup).toContain('href="#reconciliation-production-ERROR"');
    expect(markup).not.toContain('href="#reconciliation-production-DELIVERED"');
  });

  test('says what it takes where nothing can be compared, and nothing at all where no statistics are read', async () => {
    expect(await pageOf([])).toContain('No comparison yet.');
    const server = await serving(world());
    expect((await ask(server.address, '/')).text).not.toContain('id="reconciliation"');
  });
});

describe('labels with overflow', () => {
  const label = {
    account: 'production',
    label: 'destination',
    max: 2,
    shown: 2,
    configured: 0,
    hidden: 0,
    overflowAmount: 1_300,
    largestOverflow: [{ value: CANARY, count: 1_250, over: 50 }],
  };

  test('are on the page with their largest values, and as JSON', async () => {
    const server = await serving(
      busyWorld({ labels: () => [{ ...label, label: 'workflow', overflowAmount: 0 }, label] }),
    );
    const page = (await ask(server.address, '/')).text;
    expect(page).toContain('<h2 id="labels">Labels</h2>');
    expect(page).toContain('2 of 2');
    expect(page).toMatch(/&lt;script&gt;.*1,200/s);
    expect(page).not.toContain(CANARY);
    expect(page).not.toContain('>workflow<');
    const told = JSON.parse((await ask(server.address, '/api/v1/labels')).text) as { labels: unknown[] };
    expect(told).toMatchObject({ at: NOW, labels: [{ label: 'workflow' }, label] });
  });

  test('have no section on the page when there are none', async () => {
    const server = await serving(busyWorld({ labels: () => [{ ...label, overflowAmount: 0 }] }));
    expect((await ask(server.address, '/')).text).not.toContain('id="labels"');
  });
});
