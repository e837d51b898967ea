/** Reading views over real HTTP: flow control, spend, the audit log, the configuration, and one policy. */
import { describe, expect, test } from 'vitest';
import type { AuditRecord } from '#automate/ledger/audit-log.ts';
import { AuditCursorError, type AuditQuery } from '#automate/ledger/audit-reading.ts';
import { FlowControlHistory } from '#observe/observations/flow-control-history.ts';
import { verifyAuditLog } from '#operate/api/audit.ts';
import type { PolicyDetail } from '#operate/contract/policies.ts';
import type { CanariesView, FlowControlView, SpendView } from '#operate/contract/readings.ts';
import { apiDocument } from '#operate/contract/document.ts';
import { documentProblems } from '../../support/api-document.ts';
import { allCanaries, canaryState } from '../../support/canaries.ts';
import { asked, engine, got, ledger, NOW, RESUME_BILLING, storedPlan, world, type World } from '../http/world.ts';

const HOSTILE = `<script>alert("x")</script>'&\u0000\u202e`;
const ACCOUNTS = [{ name: 'production' }, { name: 'staging' }];

async function refusal(deps: World, path: string): Promise<readonly [number, string, string]> {
  const { status, body } = await asked(deps, path);
  const { error } = body as { error: { code: string; message: string } };
  return [status, error.code, error.message];
}

describe('/api/v1/flow-control', () => {
  test('keys are ordered by what keeps messages waiting, then by saturation', async () => {
    const deps = world({ accounts: ACCOUNTS });
    for (const { name } of ACCOUNTS) deps.register('flowControl', name);
    deps.publish('flowControl', [
      { flowControlKey: 'free', waitListSize: 0 },
      { flowControlKey: 'half', waitListSize: 0, parallelismMax: 10, parallelismCount: 5 },
      { flowControlKey: 'rate', waitListSize: 7, parallelismMax: 10, parallelismCount: 1, rateMax: 4, rateCount: 4 },
      { flowControlKey: HOSTILE, waitListSize: 2, isPaused: true, isPinnedRate: true },
      { flowControlKey: 'zero', waitListSize: 1, parallelismMax: 0, parallelismCount: 0 },
    ]);
    const { keys, sources } = await got<FlowControlView>(deps, '/api/v1/flow-control');
    expect(keys.map(({ flowControlKey, saturation, constraint }) => [flowControlKey, saturation, constraint])).toEqual([
      [HOSTILE, undefined, 'paused'],
      ['rate', 1, 'rate'],
      ['half', 0.5, undefined],
      ['zero', undefined, 'parallelism'],
      ['free', undefined, undefined],
    ]);
    expect(keys[0]).toMatchObject({ account: 'production', at: NOW, isPaused: true, isPinnedRate: true });
    expect(sources.map(({ account, state }) => [account, state])).toEqual([
      ['production', 'ok'],
      ['staging', 'pending'],
    ]);
  });

  test('stale readings are withheld, and the source says so; the history stays', async () => {
    const flowControlHistory = new FlowControlHistory();
    const deps = world({ accounts: ACCOUNTS, flowControlHistory });
    deps.register('flowControl');
    using _following = flowControlHistory.follow(deps.board);
    deps.publish('flowControl', [{ flowControlKey: 'k', waitListSize: 3 }]);
    const fresh = await got<FlowControlView>(deps, '/api/v1/flow-control?account=production');
    expect(fresh.keys[0]!.history).toEqual([{ at: NOW, waitListSize: 3 }]);
    await deps.clock.advance(180_001);
    const { keys, sources } = await got<FlowControlView>(deps, '/api/v1/flow-control');
    expect(keys).toEqual([]);
    expect(sources[0]).toMatchObject({ state: 'stale', lastSuccessAt: NOW });
  });

  test.each([
    ['?account=nobody', 404, 'not_found', 'There is no account nobody. Accounts: production, staging'],
    ['?key=x', 400, 'bad_request', 'unknown parameters: key; available: account.'],
    ['?__proto__=x', 400, 'bad_request', 'unknown parameters: __proto__; available: account.'],
    ['?constructor=x', 400, 'bad_request', 'unknown parameters: constructor; available: account.'],
    ['?account=', 400, 'bad_request', 'account must not be empty.'],
    ['?account=a&account=b', 400, 'bad_request', 'account must not be repeated.'],
  ])('%s is rejected', async (query, ...expected) => {
    expect(await refusal(world({ accounts: ACCOUNTS }), `/api/v1/flow-control${query}`)).toEqual(expected);
  });
});

describe('/api/v1/canaries', () => {
  const states = () => [
    canaryState(NOW),
    canaryState(NOW, { canary: 'queue', verdict: 'unknown' }),
    canaryState(NOW, { account: 'staging', canary: HOSTILE, verdict: 'network', reason: HOSTILE }),
  ];

  test('failing canaries come first, each with its next step and its messages', async () => {
    const deps = world({ accounts: ACCOUNTS, canaries: { states } });
    const { at, canaries } = await got<CanariesView>(deps, '/api/v1/canaries');
    expect(at).toBe(NOW);
    expect(canaries.map(({ canary, verdict }) => [canary, verdict])).toEqual([
      [HOSTILE, 'network'],
      ['home', 'ok'],
      ['queue', 'unknown'],
    ]);
    expect(canaries[0]).toMatchObject({
      account: 'staging',
      reason: HOSTILE,
      next: expect.stringContaining('hooks.publicUrl'),
    });
    expect(canaries[1]).toEqual(canaryState(NOW));
  });

  test('of one account, and of none that is unknown', async () => {
    const deps = world({ accounts: ACCOUNTS, canaries: { states } });
    const { canaries } = await got<CanariesView>(deps, '/api/v1/canaries?account=production');
    expect(canaries.map(({ canary }) => canary)).toEqual(['home', 'queue']);
    expect(await refusal(world({ accounts: ACCOUNTS }), '/api/v1/canaries?account=other')).toEqual([
      404,
      'not_found',
      'There is no account other. Accounts: production, staging',
    ]);
  });

  test('have the schema of the document', async () => {
    const deps = world({ accounts: ACCOUNTS, canaries: { states: () => allCanaries(NOW, (plain) => plain) } });
    const path = '/api/v1/canaries';
    const body = JSON.stringify(await got<CanariesView>(deps, path));
    expect(documentProblems(apiDocument('0.1.0'), { method: 'GET', path, status: 200, body })).toEqual([]);
  });
});

describe('/api/v1/spend', () => {
  test('it has the budget, the forecast, the days, the raises and the counts by value', async () => {
    const day = Date.UTC(2026, 10, 17);
    const raise = { at: NOW - 9, fromUsd: 100, toUsd: 150, outcome: 'verified' };
    const deps = world({
      accounts: ACCOUNTS,
      spend: {
        budgets: async () => {
          const known = { knownUsd: 150, origin: 'ledger', assertedAt: NOW - 9, maxAgeMs: 10 } as const;
          const changes = [{ ...raise, at: NOW - 99 }, { ...raise, at: NOW - 50, isByOperator: true as const }, raise];
          return new Map([['production', { known, changes }]]);
        },
        dimensions: async () =>
          new Map([['production', { name: 'label', counts: [{ value: HOSTILE, states: { DELIVERED: 4 } }] }]]),
      },
    });
    deps.register('accountStats');
    const spend = { monthUsd: 12.5, forecastUsd: 30, paceUsd: 1, requestsLastDay: 7 };
    const points = { dailyBillings: [{ at: day, value: 0.5 }], dailyRequests: [{ at: day + 86_400_000, value: 9 }] };
    deps.board.publish(
      { account: 'production', collector: 'accountStats', at: NOW - 3, rows: [{ spend, ...points }], dropped: 0 },
      5,
    );
    const { accounts } = await got<SpendView>(deps, '/api/v1/spend');
    expect(accounts).toEqual([
      {
        account: 'production',
        readAt: NOW - 3,
        monthUsd: 12.5,
        forecastUsd: 30,
        paceUsd: 1,
        budget: { knownUsd: 150, origin: 'ledger', assertedAt: NOW - 9, isOutdated: false },
        days: [
          { at: day, usd: 0.5 },
          { at: day + 86_400_000, requests: 9 },
        ],
        month: expect.objectContaining({ from: Date.UTC(2026, 10, 1) }) as object,
        raises: [raise, { ...raise, at: NOW - 99 }],
        dimension: 'label',
        byValue: [{ value: HOSTILE, states: { DELIVERED: 4 } }],
        source: expect.objectContaining({ collector: 'accountStats', state: 'ok' }) as object,
      },
      { account: 'staging', days: [], raises: [], byValue: [] },
    ]);
  });

  test('an unlimited budget is null, and a budget without a date is too old to act on', async () => {
    const deps = world({
      accounts: [{ name: 'production' }],
      spend: {
        ...world().spend,
        budgets: async () => {
          const known = { knownUsd: Infinity, origin: 'configuration', maxAgeMs: 10 } as const;
          return new Map([['production', { known, changes: [] }]]);
        },
      },
    });
    const { accounts } = await got<SpendView>(deps, '/api/v1/spend');
    expect(accounts[0]!.budget).toEqual({ knownUsd: null, origin: 'configuration', isOutdated: true });
  });

  test('an unreadable store is an error with its reason', async () => {
    const budgets = () => {
      throw new Error('disk I/O error');
    };
    const deps = world({ accounts: ACCOUNTS, spend: { ...world().spend, budgets } });
    expect(await refusal(deps, '/api/v1/spend')).toEqual([
      503,
      'store_unavailable',
      'The store cannot be read: disk I/O error',
    ]);
  });
});

describe('/api/v1/audit', () => {
  const RECORD: AuditRecord = {
    sequence: 7,
    time: new Date(NOW).toISOString(),
    type: 'pause',
    by: 'alice',
    reason: HOSTILE,
    scope: 'engine',
    token: 'abc',
    store: 's',
    opening: 3,
    previous: 'a'.repeat(64),
    hash: 'b'.repeat(64),
  };

  function searched(answer: (query: AuditQuery) => Promise<{ records: AuditRecord[]; damaged: number }>): World {
    return world({ audit: { ...world().audit, search: answer } });
  }

  test('the query reaches the search, and records have their fields', async () => {
    const asked: AuditQuery[] = [];
    const deps = searched((query) => {
      asked.push(query);
      return Promise.resolve({ records: [RECORD], damaged: 0, cursor: '1.5' });
    });
    const path = '/api/v1/audit?type=pause&policy=p&account=a&by=alice&since=2h&q=Deploy&limit=7&cursor=1.9';
    expect(await got(deps, path)).toEqual({
      at: NOW,
      records: [
        {
          sequence: 7,
          at: NOW,
          type: 'pause',
          by: 'alice',
          reason: HOSTILE,
          hash: 'b'.repeat(64),
          details: { scope: 'engine', opening: 3, token: '[secret]' },
        },
      ],
      damaged: 0,
      cursor: '1.5',
    });
    expect(asked).toEqual([
      {
        type: 'pause',
        policy: 'p',
        account: 'a',
        by: 'alice',
        since: NOW - 7_200_000,
        text: 'Deploy',
        limit: 7,
        cursor: '1.9',
      },
    ]);
  });

  test.each([
    ['?since=yesterday', /since must be .*, ISO 8601, or a duration before now such as 2h\./],
    ['?since=1763800000', /since must be epoch milliseconds \(13 digits\)/],
    ['?limit=0', 'limit must be an integer from 1 to 500.'],
    ['?limit=x&kind=y', /limit must be an integer from 1 to 500; unknown parameters: kind; available: type/],
    [`?q=${'x'.repeat(1_001)}`, 'q must have at most 1000 characters.'],
  ])('%s is rejected', async (query, message) => {
    expect(await refusal(world(), `/api/v1/audit${query}`)).toEqual([
      400,
      'bad_request',
      expect.stringMatching(message),
    ]);
  });

  test('a bad cursor is the caller’s error, and an unreadable log the daemon’s', async () => {
    const bad = searched(() => Promise.reject(new AuditCursorError('the cursor names nothing')));
    expect(await refusal(bad, '/api/v1/audit?cursor=1.1')).toEqual([400, 'bad_request', 'the cursor names nothing.']);
    const broken = searched(() => Promise.reject(new Error('EACCES')));
    expect(await refusal(broken, '/api/v1/audit')).toEqual([
      503,
      'store_unavailable',
      'The audit log cannot be read: EACCES',
    ]);
  });

  test('one verification runs at a time, and its callers share the result', async () => {
    let runs = 0;
    const gate = Promise.withResolvers<void>();
    const verify = async () => {
      runs += 1;
      await gate.promise;
      return { records: 3, isTorn: false, finding: { file: '/a', line: 2, problem: 'it is not JSON' } };
    };
    const deps = world({ audit: { ...world().audit, verify } });
    const answers = [1, 2, 3].map(() => verifyAuditLog(deps));
    gate.resolve();
    for (const verified of await Promise.all(answers)) {
      expect(verified).toMatchObject({ isIntact: false, records: 3, finding: { line: 2 } });
    }
    expect(runs).toBe(1);
    expect(await got(deps, '/api/v1/audit/verify')).toMatchObject({ at: NOW, isIntact: false, tookMs: 0 });
    expect(runs).toBe(2);
  });
});

test('a log whose last line has no end is neither intact nor changed', async () => {
  const deps = world({ audit: { ...world().audit, verify: async () => ({ records: 3, isTorn: true }) } });
  const verified = await verifyAuditLog(deps);
  expect(verified).toMatchObject({ isIntact: false, isTorn: true, records: 3 });
  expect(verified.finding).toBeUndefined();
});

describe('/api/v1/configuration', () => {
  test('it has the running configuration', async () => {
    const configuration = {
      hash: 'abc',
      files: ['/etc/opsd/opsd.yaml'],
      settings: { engine: { mode: 'audit' } },
      // Longer than the longest single text that leaves the process.
      yaml: ['engine:', '  mode: audit', ...Array.from({ length: 9_000 }, (_, at) => `  key${at}: value`)],
      policies: [{ name: 'p', source: 'opsd.yaml:3' }],
      reload: { ok: false, goodAt: NOW - 5, problems: ['opsd.yaml:3:1: unknown key'], auditOnly: true },
    };
    expect(await got(world({ configuration: () => configuration }), '/api/v1/configuration')).toEqual({
      at: NOW,
      ...configuration,
    });
  });
});

describe('/api/v1/policies/{id}', () => {
  const CONDITION = { severity: 'warning' as const, summary: 's', detail: 'd', since: NOW };

  function policyWorld(scopes: Awaited<ReturnType<World['policyScopes']>>): World {
    const other = storedPlan();
    return world({
      policies: async () => [RESUME_BILLING],
      policyScopes: async () => scopes,
      engine: engine({
        conditions: () => [
          { ...CONDITION, key: 'held/resume-billing', policy: 'resume-billing' },
          { ...CONDITION, key: 'held/other', policy: 'other' },
        ],
      }),
      ledger: ledger({
        pauses: async () =>
          ['engine', 'policy/resume-billing', 'group/resume-billing/g', 'policy/other'].map((scope) => ({
            scope,
            reason: 'r',
            at: NOW,
            by: 'alice',
          })),
        storedPlans: async () => [storedPlan(), { ...other, plan: { ...other.plan, policy: 'other' } }],
      }),
    });
  }

  test('it has the plans, conditions and pauses of the policy, and no others', async () => {
    const deps = policyWorld(undefined);
    const found = await got<PolicyDetail>(deps, '/api/v1/policies/resume-billing');
    expect(found).toMatchObject({ at: NOW, policy: { name: 'resume-billing' }, runs: [] });
    expect(found.plans.map(({ policy }) => policy)).toEqual(['resume-billing']);
    expect(found.conditions.map(({ key }) => key)).toEqual(['held/resume-billing']);
    expect(found.pauses.map(({ scope }) => scope)).toEqual([
      'engine',
      'policy/resume-billing',
      'group/resume-billing/g',
    ]);
    expect(found.versions).toBeUndefined();
  });

  test('its change since the last run is the paths that differ', async () => {
    const present = { atMost: { maxPerHour: 9, retries: 1 }, among: { label: ['a', 'b'] } };
    const atLastRun = { atMost: { maxPerHour: 5, retries: 1 }, among: { label: ['a'] }, same: { where: 'x' } };
    const changed = policyWorld({ present, atLastRun });
    expect((await got<PolicyDetail>(changed, '/api/v1/policies/resume-billing')).versions).toEqual({
      present,
      atLastRun,
      changed: ['among.label', 'atMost.maxPerHour', 'same'],
    });
    const never = policyWorld({ present });
    expect((await got<PolicyDetail>(never, '/api/v1/policies/resume-billing')).versions).toEqual({ present });
  });

  test('an unknown policy is named with the known ones', async () => {
    const [status, code, message] = await refusal(policyWorld(undefined), '/api/v1/policies/nobody');
    expect([status, code]).toEqual([404, 'unknown_policy']);
    expect(message).toContain('resume-billing');
  });
});
