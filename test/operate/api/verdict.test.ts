/** The sentence at the top of the page: problems come first. */
import { describe, expect, test } from 'vitest';
import type { CollectorName } from '#foundation/domain/observation.ts';
import type { AccountReading } from '#foundation/domain/statistics.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { RunRecord } from '#automate/ledger/reports.ts';
import { readStatus } from '#operate/api/status.ts';
import { judge } from '#operate/api/verdict.ts';
import type { AccountLease } from '#operate/contract/status.ts';
import { canaryState } from '../../support/canaries.ts';
import { action, engine, ledger, NOW, plan, RESUME_BILLING, storedPlan, world, type World } from '../http/world.ts';

async function verdict(deps: World) {
  return (await readStatus(deps, 20)).verdict;
}

/** Registers a collector, and publishes its reading. */
function read(deps: World, collector: CollectorName = 'workflowDlq', rows: readonly object[] = [], account?: string) {
  deps.register(collector, account);
  deps.publish(collector, rows, account);
}

const broken = (): never => {
  throw new Error('disk I/O error');
};

function fail(deps: World): void {
  deps.board.fail('production', 'workflowDlq', { reason: 'timeout', message: 'no response', durationMs: 10_000 });
}

function lastRun(outcome: RunRecord['outcome'], detail?: string): World['ledger'] {
  const of = {
    policy: 'resume-billing',
    account: 'production',
    planId: '9f3c2a',
    trigger: { kind: 'schedule' },
  } as const;
  const run = { id: 1, ...of, at: NOW, matched: 3, acted: 0, backlog: 3 };
  const full = { ...run, ...(outcome !== undefined && { outcome }), ...(detail !== undefined && { detail }) };
  return ledger({ lastRuns: async () => [full] });
}

describe('the verdict', () => {
  test('all is healthy', async () => {
    const deps = world({ policies: async () => [RESUME_BILLING] });
    read(deps);
    expect(await verdict(deps)).toEqual({
      level: 'ok',
      sentence: 'All is well: 1 of 1 sources read, 1 policy as configured.',
      problems: [],
    });
  });

  describe('of accounts that replicas share', () => {
    const accounts = ['a', 'b', 'c', 'd', 'e', 'f', 'production'].map((name) => ({ name }));
    const own = { replica: 'opsd-0', epoch: 3, isOwn: true };

    function shared(owners: ReadonlyMap<string, AccountLease>, problem?: string): World {
      const policies = async () => [{ ...RESUME_BILLING, effectiveMode: 'off' as const, reducedBy: 'no owner' }];
      return world({ accounts, policies, replica: { name: 'opsd-0', problem, owners: () => owners } });
    }

    test('an account without an owner is a trouble, which its policies do not repeat', async () => {
      const unowned = new Map(accounts.map(({ name }) => [name, { epoch: 4, isOwn: false }]));
      const status = await readStatus(shared(unowned), 0);
      expect(status).toMatchObject({ replica: 'opsd-0' });
      expect(status.accounts[0]).toEqual({ name: 'a', usage: [], lease: { epoch: 4, isOwn: false } });
      expect(status.verdict.problems).toEqual([
        {
          level: 'trouble',
          text: 'No replica owns 7 accounts (a, b, c, d, e and 2 more): nothing is read of them, and no policy acts on them',
          path: '/sources#accounts',
        },
      ]);
    });

    test('an account whose owner is unknown after a handover is not called one without an owner', async () => {
      const given = { epoch: 4, isOwn: false, isUnknown: true };
      const owners = new Map<string, AccountLease>(accounts.map(({ name }) => [name, name < 'e' ? own : given]));
      owners.set('e', { ...given, next: 'opsd-1' });
      const { problems } = await verdict(shared(owners));
      expect(problems).toEqual([
        {
          level: 'attention',
          text: 'This replica gave up 3 accounts (e, which opsd-1 takes; f; production), and learns the new owner with its next heartbeat',
          path: '/sources#accounts',
        },
      ]);
    });

    test('accounts with owners are no problem, and their policies have their own', async () => {
      const owned = new Map(accounts.map(({ name }) => [name, own]));
      const { problems } = await verdict(shared(owned));
      expect(problems.map(({ path }) => path)).toEqual(['/policies/resume-billing']);
    });

    test('a replica that cannot read the leases says so, and no owners', async () => {
      const { verdict: found, accounts: shown } = await readStatus(shared(new Map(), 'the server is away'), 0);
      expect(found.problems[0]).toMatchObject({
        level: 'trouble',
        text: 'This replica cannot read the leases, so it does not act: the server is away',
      });
      expect(shown.filter(({ lease }) => lease !== undefined)).toEqual([]);
    });
  });

  test('a canary that fails needs attention, and one whose verdict is unknown does not', async () => {
    const reason = 'the service accepted the message, but its log shows no attempt after 60 s';
    const failing = canaryState(NOW, { verdict: 'service', reason, since: NOW - 300_000 });
    const unknown = canaryState(NOW, { canary: 'new', verdict: 'unknown' });
    const found = await verdict(world({ canaries: { states: () => [unknown, failing] } }));
    expect(found).toMatchObject({
      level: 'attention',
      problems: [
        {
          text: 'The canary home of production has failed for 5 min (service)',
          detail: reason,
          path: '/canaries#canary-production-home',
        },
      ],
    });
    expect((await verdict(world({ canaries: { states: () => [unknown, canaryState(NOW)] } }))).problems).toEqual([]);
  });

  describe('of log and statistics', () => {
    const row = { state: 'DELIVERED', hour: NOW - 5_400_000, logs: 1_000, statistics: 1_000 } as const;

    function compared(...reconciled: NonNullable<AccountReading['reconciled']>) {
      const deps = world({ accounts: [{ name: 'production' }] });
      read(deps, 'accountStats', [{ reconciled }]);
      return readStatus(deps, 20);
    }

    test('says that they agree', async () => {
      const { verdict: said, reconciliation } = await compared({ ...row, agrees: true, isLasting: false });
      expect(said.sentence).toBe('All is well: 1 of 1 sources read, no policies, log and statistics agree.');
      expect(reconciliation).toEqual([{ account: 'production', ...row, agrees: true, isLasting: false }]);
    });

    test('does not mention a gap of one hour, and requires attention when it lasts', async () => {
      const short = (await compared({ ...row, statistics: 500, agrees: false, isLasting: false })).verdict;
      expect(short.sentence).toBe('All is well: 1 of 1 sources read, no policies.');
      const lasting = (await compared({ ...row, statistics: 500, agrees: false, isLasting: true })).verdict;
      expect(lasting).toMatchObject({
        level: 'attention',
        sentence:
          'production: the log and the statistics disagree on DELIVERED in the hour from 09:00 UTC (1,000 and 500) and in the previous hour.',
        problems: [{ path: '/sources#reconciliation-production-DELIVERED' }],
      });
    });
  });

  test('not ready yet', async () => {
    const deps = world({ readiness: () => ({ ready: false, detail: 'first round.' }) });
    expect(await verdict(deps)).toMatchObject({ level: 'starting', sentence: 'Starting: first round.' });
  });

  test('a source that never succeeded is a problem', async () => {
    const deps = world();
    deps.register('workflowDlq');
    fail(deps);
    expect(await verdict(deps)).toMatchObject({
      level: 'trouble',
      sentence: 'production workflowDlq is failing (timeout): no success so far.',
    });
  });

  test('a source that fails for now requires attention, and is a problem once its data is stale', async () => {
    const deps = world();
    read(deps);
    await deps.clock.advance(60_000);
    fail(deps);
    expect(await verdict(deps)).toMatchObject({ level: 'attention' });
    await deps.clock.advance(180_000);
    expect(await verdict(deps)).toMatchObject({
      level: 'trouble',
      sentence: 'production workflowDlq is stale (timeout): last success 4 min ago, its gauges are withheld.',
    });
  });

  test.each([
    ['failed', 'trouble'],
    ['aborted', 'trouble'],
    ['halted', 'trouble'],
    ['held', 'ok'],
    ['incomplete', 'attention'],
    ['acted', 'ok'],
    ['nothing_to_do', 'ok'],
    ['skipped', 'ok'],
    [undefined, 'ok'],
  ] as const)('a last run that ended as %s is %s', async (outcome, level) => {
    expect((await verdict(world({ policies: async () => [RESUME_BILLING], ledger: lastRun(outcome) }))).level).toBe(
      level,
    );
  });

  test('a reduced mode is never silent', async () => {
    const deps = world({
      policies: async () => [{ ...RESUME_BILLING, effectiveMode: 'audit', reducedBy: 'engine.mode is audit' }],
    });
    expect(await verdict(deps)).toMatchObject({
      level: 'attention',
      sentence: 'resume-billing is configured as enforce and runs as audit: engine.mode is audit.',
    });
  });

  test('unknown outcomes require attention, all of them, at any age', async () => {
    const actions = [action({ id: 2, outcome: 'accepted' })];
    const deps = world({
      ledger: ledger({
        recentActions: async () => actions,
        unknownOutcomes: async () =>
          new Map([
            ['p', 20],
            ['q', 4],
          ]),
      }),
    });
    expect(await verdict(deps)).toMatchObject({
      level: 'attention',
      sentence:
        'The outcomes of 24 actions are unknown; no requests are sent for their entries until reads resolve them.',
    });
  });

  const HELD = {
    key: 'held/resume-billing',
    severity: 'warning',
    policy: 'resume-billing',
    guard: 'quota',
    summary: 'quota holds resume-billing',
    detail: '429 within 10 min',
    since: NOW - 600_000,
  } as const;

  test('an active condition is reported once, with its detail', async () => {
    const run = lastRun('held', 'quota: 429 within 10 min');
    const deps = world({
      policies: async () => [RESUME_BILLING],
      ledger: run,
      engine: engine({ conditions: () => [HELD] }),
    });
    expect(await verdict(deps)).toMatchObject({
      level: 'attention',
      sentence: 'quota holds resume-billing: 429 within 10 min.',
      problems: [{ text: 'quota holds resume-billing', detail: '429 within 10 min', path: '/policies/resume-billing' }],
    });
    // A resolved hold is not reported, though the last run was held.
    expect((await verdict(world({ policies: async () => [RESUME_BILLING], ledger: run }))).level).toBe('ok');
  });

  test.each([
    [{ by: 'policy', policy: 'resume-billing' } as const, 'info', 'resume-billing repairs it'],
    [{ by: 'policy', policy: 'p', why: 'held by arrivals' } as const, 'attention', 'p is held by arrivals'],
    [{ by: 'operator' } as const, 'attention', undefined],
    [undefined, 'attention', undefined],
  ])('an incident leads to its page, and is calm only while a policy repairs it: %j', async (repair, level, detail) => {
    const conditions = () => [{ ...HELD, key: 'incident/i-1', summary: 'Incident in production: 3 runs failed' }];
    const status = await readStatus(world({ engine: engine({ conditions }) }), 0);
    const repairs = new Map(repair === undefined ? [] : [['i-1', repair]]);
    const { problems } = judge(status, { canaries: [], incidents: [], repairs });
    const text = 'Incident in production: 3 runs failed';
    expect(problems).toEqual([{ level, text, ...(detail !== undefined && { detail }), path: '/incidents/i-1' }]);
  });

  test('an abandoned group is a problem', async () => {
    const condition = { ...HELD, key: 'halted/resume-billing/x', severity: 'critical' } as const;
    expect(await verdict(world({ engine: engine({ conditions: () => [condition] }) }))).toMatchObject({
      level: 'trouble',
    });
  });

  test('unknown outcomes with an active condition are not reported twice', async () => {
    const condition = { ...HELD, key: 'unknown/resume-billing', summary: 'outcomes of resume-billing are unknown' };
    const deps = world({
      engine: engine({ conditions: () => [condition] }),
      ledger: ledger({ unknownOutcomes: async () => new Map([['resume-billing', 3]]) }),
    });
    expect((await verdict(deps)).problems).toHaveLength(1);
  });

  test('a pause of everything is one problem, for any number of policies', async () => {
    const reducedBy = 'paused: the service is odd; `opsd unpause --reason TEXT` lifts it';
    const paused = { ...RESUME_BILLING, effectiveMode: 'off', reducedBy } as const;
    const told = {
      key: 'paused/engine',
      severity: 'warning',
      summary: 'Paused: engine',
      detail: 'odd',
      since: NOW,
    } as const;
    const deps = world({
      policies: async () => [paused, { ...paused, name: 'other' }],
      engine: engine({ conditions: () => [told] }),
      ledger: ledger({
        pauses: async () => [{ scope: 'engine', reason: 'the service is odd', at: NOW - 60_000, by: 'local' }],
      }),
    });
    expect(await verdict(deps)).toMatchObject({
      level: 'info',
      sentence: 'All policies are paused by local: the service is odd.',
    });
    expect((await verdict(deps)).problems).toHaveLength(1);
  });

  test('a pause comes after the problems', async () => {
    const pauses = async () => [{ scope: 'engine', reason: 'release night', at: NOW - 60_000, by: 'kim' }];
    const deps = world({ ledger: ledger({ pauses }) });
    deps.register('workflowDlq');
    fail(deps);
    expect(await verdict(deps)).toMatchObject({
      level: 'trouble',
      problems: [{ level: 'trouble' }, { level: 'info' }],
    });
    expect((await verdict(deps)).sentence).toMatch(/^production workflowDlq is failing /);
  });

  test('a run that a pause or a stop ended is not a problem', async () => {
    for (const detail of ['kill_switch: release night; 3 left', 'interrupted: the daemon is stopping']) {
      expect(
        (await verdict(world({ policies: async () => [RESUME_BILLING], ledger: lastRun('halted', detail) }))).level,
      ).toBe('info');
    }
  });

  test('a pause by the daemon itself is a problem, because only an operator lifts it', async () => {
    const itself = 'paused: exceeded_request: 3 resumed for 1; `opsd unpause --reason TEXT` lifts it';
    const level = async (reducedBy: string, ...by: readonly string[]) => {
      const pauses = async () => by.map((one) => ({ scope: 'policy/resume-billing', reason: 'r', at: NOW, by: one }));
      const policies = async () => [{ ...RESUME_BILLING, effectiveMode: 'off' as const, reducedBy }];
      return (await verdict(world({ policies, ledger: ledger({ pauses }) }))).level;
    };
    expect([await level(itself), await level('paused: /etc/PAUSE exists')]).toEqual(['trouble', 'info']);
    expect([await level(itself, 'engine'), await level(itself, 'kim')]).toEqual(['trouble', 'info']);
  });

  test('the worst comes first, the rest is counted', async () => {
    const deps = world({
      policies: async () => [{ ...RESUME_BILLING, effectiveMode: 'off' }],
      health: () => ({ healthy: false, detail: 'no tick for 40 s' }),
    });
    read(deps);
    fail(deps);
    const { level, sentence, problems } = await verdict(deps);
    expect(level).toBe('trouble');
    expect(sentence).toBe('The daemon is not healthy: no tick for 40 s; and 2 more.');
    expect(problems.map((problem) => problem.level)).toEqual(['trouble', 'attention', 'attention']);
  });

  test('an unreadable store does not break the page', async () => {
    const status = await readStatus(world({ ledger: ledger({ lastRuns: broken }) }), 20);
    expect(status.storeError).toBe('disk I/O error');
    expect(status.verdict.sentence).toBe(
      'The store is unavailable, so policies do not act and counters do not advance: disk I/O error.',
    );
  });

  test('an unreadable store is one problem: the leases and the condition of the store do not repeat it', async () => {
    const store = {
      key: 'store',
      severity: 'critical',
      summary: 'The store is unavailable',
      detail: '',
      since: NOW,
    } as const;
    const away = {
      replica: { name: 'opsd-0', problem: 'the server is away', owners: () => new Map() },
      engine: engine({ conditions: () => [store] }),
    };
    const { problems } = await verdict(world({ ...away, ledger: ledger({ lastRuns: broken }) }));
    expect(problems).toHaveLength(1);
    // It may be readable, and not writable.
    expect(await verdict(world(away))).toMatchObject({ problems: { length: 2 } });
  });

  describe('for destinations that are down', () => {
    const OUTAGE = {
      host: 'crm.vendor.example',
      since: NOW - 18 * 60_000,
      isSinceKnown: true,
      lastAt: NOW - 60_000,
      failed: 962,
      delivered: 0,
      lost: 251,
      reasons: [{ reason: 'HTTP 503', count: 962 }],
    };
    const entry = (n: number, url: string) => ({
      dlqId: `d${n}`,
      workflowRunId: `w${n}`,
      workflowUrl: url,
      createdAt: NOW - 60_000 * n,
      labels: [],
    });

    /** The policy selects the runs of this host only. */
    const selectedBy = (_account: string, { runs }: { readonly runs: readonly { workflowUrl: string }[] }) => {
      const count = runs.filter(({ workflowUrl }) => workflowUrl.startsWith('https://crm.vendor.example/')).length;
      return new Map(count === 0 ? [] : [['resume-billing', count]]);
    };

    function down(over: Partial<World> = {}, listed = true) {
      const base = world();
      const deps = world({
        incidents: { ...base.incidents, selectedBy },
        accounts: [{ name: 'production', dlqRetentionMs: 86_400_000 }],
        outages: () => [OUTAGE],
        ...over,
      });
      const rows = [
        entry(1, 'https://crm.vendor.example/a'),
        entry(9, 'https://crm.vendor.example/b'),
        entry(5, 'https://x.example'),
      ];
      if (listed) read(deps, 'workflowDlq', rows);
      return readStatus(deps, 20);
    }

    test("names the fault first, its size, and the daemon's reaction", async () => {
      const { verdict: said, outages } = await down();
      expect(said).toMatchObject({
        level: 'trouble',
        sentence:
          'crm.vendor.example answers 503 to everything since 10:12 UTC (18 min): 962 failed attempts, 251 failed messages, 2 failed runs; no policy resumes its failed runs; they stay in the DLQ until they expire.',
      });
      expect(outages).toMatchObject([
        { failedRuns: 2, oldestFailedAt: NOW - 9 * 60_000, firstExpiresAt: NOW - 9 * 60_000 + 86_400_000 },
      ]);
    });

    test.each<readonly [string, Partial<PolicyStatus>, string]>([
      [
        'a policy that is held',
        { held: { guard: 'arrivals', reason: '40 in 10 minutes', since: NOW } },
        'waits until fewer runs fail (40 in 10 minutes)',
      ],
      [
        'a policy in audit',
        { effectiveMode: 'audit', reducedBy: 'OPSD_MODE is audit' },
        'resumes nothing: its mode is audit (OPSD_MODE is audit)',
      ],
      [
        'a policy that is paused',
        { effectiveMode: 'off', reducedBy: 'paused: release night' },
        'is paused: release night',
      ],
      ['a policy that acts', { nextRunAt: NOW + 120_000 }, 'resumes the runs that it selects (next run in 2 min)'],
      [
        'a policy in audit that is held',
        { effectiveMode: 'audit', held: { guard: 'destination', reason: '0.25 of 43', since: NOW } },
        'resumes nothing: its mode is audit',
      ],
      [
        'a policy that is held, with figures that may be of another host',
        { held: { guard: 'destination', reason: '0.25 of 43', since: NOW } },
        'waits until the destination delivers again',
      ],
      ['a policy that is off', { mode: 'off', effectiveMode: 'off' }, 'is off'],
    ])('reports what %s does', async (_what, over, text) => {
      const { outages, verdict: said } = await down({ policies: async () => [{ ...RESUME_BILLING, ...over }] });
      expect(outages[0]!.reactions).toMatchObject([{ policy: 'resume-billing', text }]);
      expect(said.sentence).toContain(`2 failed runs; resume-billing ${text}`);
    });

    test('a hold that is reported with the outage is not repeated', async () => {
      const conditions = () => [{ ...HELD, severity: 'info' as const }];
      const held = { guard: 'quota', reason: '429', since: NOW };
      const { verdict: said } = await down({
        policies: async () => [{ ...RESUME_BILLING, held }],
        engine: engine({ conditions }),
      });
      expect(said.problems).toHaveLength(1);
    });

    test('a policy that selects no run of the destination has no reaction to it', async () => {
      const { outages, verdict: said } = await down({
        policies: async () => [RESUME_BILLING],
        outages: () => [{ ...OUTAGE, host: 'x.example' }],
      });
      expect(outages).toMatchObject([{ failedRuns: 1, reactions: [] }]);
      expect(said.sentence).toContain('1 failed run; no policy resumes its failed runs');
    });

    test('an active approval is announced', async () => {
      const approved = storedPlan({ state: 'approved', by: 'ada' });
      const { outages } = await down({
        policies: async () => [{ ...RESUME_BILLING, held: { guard: 'destination', reason: '', since: NOW } }],
        ledger: ledger({ storedPlans: async () => [approved] }),
      });
      expect(outages[0]!.reactions[0]!.text).toMatch(
        /^waits until the destination delivers again; plan 9f3c2a is approved by ada until 2026-/,
      );
    });

    test('a decision leads, then what nobody repairs, then what a policy repairs, then what is unknown', async () => {
      const deps = world({
        accounts: [{ name: 'production' }, { name: 'other' }],
        outages: (account) => (account === 'other' ? undefined : [OUTAGE, { ...OUTAGE, host: 'x.example' }]),
        incidents: { ...world().incidents, selectedBy },
        policies: async () => [{ ...RESUME_BILLING, nextRunAt: NOW + 60_000 }],
        ledger: ledger({ storedPlans: async () => [storedPlan({ plan: plan({ policy: 'delete-refused' }) })] }),
      });
      read(deps, 'workflowDlq', [entry(1, 'https://crm.vendor.example/a'), entry(5, 'https://x.example')]);
      read(deps, 'logs', [], 'other');
      const { problems, level } = await verdict(deps);
      expect(level).toBe('trouble');
      expect(problems.map(({ text }) => text.split(' ').slice(0, 3).join(' '))).toEqual([
        'Plan 9f3c2a of',
        'x.example answers 503',
        'crm.vendor.example answers 503',
        'The state of',
      ]);
    });

    test('a stale listing leaves the failed runs unknown', async () => {
      const { verdict: said, outages } = await down({}, false);
      expect(outages[0]).not.toHaveProperty('failedRuns');
      expect(said.sentence).toContain('number of failed runs unknown');
    });

    test('failed runs of a new store lead, before destinations whose state is unknown', async () => {
      const summary = 'Incident in production: 96 runs of x.example/flow failed: HTTP 503';
      const told = { key: 'incident/3f2a', severity: 'warning' as const, summary, detail: '', since: NOW };
      const deps = world({
        accounts: [{ name: 'production' }],
        outages: () => undefined,
        engine: engine({ conditions: () => [told] }),
      });
      deps.register('workflowDlq');
      read(deps, 'logs');
      const { problems, sentence } = await verdict(deps);
      expect(sentence).toBe(`${summary}; and 1 more.`);
      expect(problems[1]!.text).toBe('The state of the destinations of production is unknown');
    });

    test('a healthy state is not reported while the log is behind', async () => {
      const deps = world({ accounts: [{ name: 'production' }], outages: () => undefined });
      deps.register('logs');
      expect((await verdict(deps)).level).toBe('ok');
      deps.board.logLag.take('production', NOW - 720_000);
      read(deps, 'logs', [{ watermark: NOW - 720_000 }]);
      expect(await verdict(deps)).toMatchObject({
        level: 'attention',
        sentence:
          'The state of the destinations of production is unknown: its log is counted until 2026-11-18 10:18:00Z.',
      });
    });
  });
});
