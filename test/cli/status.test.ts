/** `opsd status`: its screen at 80 columns, its exit codes, and its data, against a real server. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ServerDeps } from '#operate/server.ts';
import {
  action,
  engine,
  incident,
  incidents,
  ledger,
  NOW,
  RESUME_BILLING,
  serving,
  storedPlan,
  world,
} from '../operate/http/world.ts';
import { tempDir } from '../support/temp-dir.ts';
import { opsd, type TerminalOptions } from './terminal.ts';

const SCREEN = { isTTY: true, columns: 80 };

async function status(deps: Partial<ServerDeps>, args: readonly string[] = [], options: TerminalOptions = SCREEN) {
  const { address } = await serving(world(deps));
  return opsd(['status', ...args], { ...options, env: { NO_COLOR: '1', OPSD_URL: address } });
}

const NIGHT: Partial<ServerDeps> = {
  accounts: [{ name: 'production' }],
  incidents: incidents({
    all: () => [incident(), incident({ id: 'i-12', state: 'acknowledged' })],
    firstExpiresAt: () => NOW + 172_800_000,
  }),
  policies: async () => [
    {
      ...RESUME_BILLING,
      held: { guard: 'arrivals', reason: '183 new', since: NOW - 1_200_000 },
      nextRunAt: NOW + 180_000,
    },
    { ...RESUME_BILLING, name: 'delete-old', action: 'workflow-dlq.delete', mode: 'approve', effectiveMode: 'approve' },
  ],
  ledger: ledger({
    pauses: async () => [
      { scope: 'engine', reason: 'checkout is odd \u001B[2J', at: NOW - 60_000, by: 'oncall' },
      { scope: 'policy/delete-old', reason: 'audit first', at: NOW - 7_200_000, by: 'ann' },
    ],
    storedPlans: async () => [storedPlan()],
    recentActions: async () => [action({ outcome: 'failed_again', outcomeAt: NOW })],
    lastRuns: async () => [
      {
        id: 7,
        policy: 'resume-billing',
        account: 'production',
        planId: '9f3c2a',
        trigger: { kind: 'schedule' },
        at: NOW - 120_000,
        outcome: 'held',
        matched: 183,
        acted: 0,
        backlog: 183,
      },
    ],
  }),
  engine: engine({
    conditions: () => [
      {
        key: 'held/resume-billing',
        severity: 'warning',
        summary: 'Policy resume-billing is held by arrivals',
        detail: '183 new entries in 10m, more than 50; the next run checks again',
        since: NOW - 1_200_000,
        policy: 'resume-billing',
        guard: 'arrivals',
      },
      {
        key: 'unknown/1',
        severity: 'critical',
        summary: 'The outcome of an action is unknown',
        detail: 'the response to the request for dlq-8812 was lost',
        since: NOW - 30_000,
      },
    ],
  }),
};

test('the screen has the verdict, then problems, incidents, plans, pauses with their next step, policies, and sources', async () => {
  const { code, stdout, stderr } = await status(NIGHT);
  expect({ code, stderr }).toEqual({ code: 3, stderr: '' });
  expect(stdout).toBe(`\
■ Plan 9f3c2a of resume-billing waits for an approval of 2 actions; and 3 more.
  opsd 0.1.0, up 1 h, at 2026-11-18 10:30:00Z

  problem   ■ The outcome of an action is unknown: the response to the request
            for dlq-8812 was lost
  problem   ▲ Policy resume-billing is held by arrivals: 183 new entries in 10m,
            more than 50; the next run checks again

  incident  i-4711 183 runs of app.example.com/invoice failed: HTTP 503
            (production), open, since 28 min, first expiry in 2 d
  incident  i-12 183 runs of app.example.com/invoice failed: HTTP 503
            (production), acknowledged, since 28 min, first expiry in 2 d
            opsd incidents show i-4711

  pending   9f3c2a resume-billing: 2 actions on production, expires in 1 h
            opsd approve 9f3c2a
            opsd reject 9f3c2a

  paused    all policies by oncall 1 min ago: checkout is odd \\x1b[2J
            opsd unpause --reason TEXT
  paused    delete-old by ann 2 h ago: audit first
            opsd unpause --policy delete-old --reason TEXT

  policy    resume-billing [enforce] held by arrivals for 20 min, 2 min ago (183
            matched: 0 acted on, 183 left), next in 3 min
  policy    delete-old [approve] has not run
  action    workflow-dlq.resume dlq-8812: failed again, 1 min ago by
            resume-billing
`);
});

test('a command is never wrapped, because it is copied', async () => {
  const { stdout } = await status(NIGHT, [], { isTTY: true, columns: 30 });
  expect(stdout).toContain('\n            opsd unpause --policy delete-old --reason TEXT\n');
});

test('a quiet daemon has one line, and exit code 0', async () => {
  const { code, stdout } = await status({});
  expect(code).toBe(0);
  expect(stdout).toBe('● All is well: no sources, no policies.\n  opsd 0.1.0, up 1 h, at 2026-11-18 10:30:00Z\n');
});

test('without the store, the screen has what the daemon still knows', async () => {
  const away = (): never => {
    throw new Error('the server is away');
  };
  const broken = ledger({ lastRuns: away, storedPlans: away, recentActions: away });
  const { code, stdout, stderr } = await status({ ...NIGHT, ledger: broken });
  expect({ code, stderr }).toEqual({ code: 3, stderr: '' });
  expect(stdout).toMatch(/^■ The store is unavailable, so policies do not act and counters do not advance:\n/);
  expect(stdout).toMatch(/^  incident  i-4711 /m);
  expect(stdout).not.toMatch(/^  (?:policy|pending) /m);
});

test('a replica names itself, and the number of its accounts', async () => {
  const owners = new Map([
    ['production', { replica: 'opsd-0', epoch: 3, isOwn: true }],
    ['staging', { replica: 'opsd-1', epoch: 7, isOwn: false }],
  ]);
  const accounts = [...owners.keys()].map((name) => ({ name }));
  const { stdout } = await status({ accounts, replica: { name: 'opsd-0', problem: undefined, owners: () => owners } });
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('Z, replica opsd-0 with 1 of 2 accounts');
});

test('an open incident is a finding, also before it is reported; an acknowledged one is not', async () => {
  const { accounts } = NIGHT;
  for (const [state, code] of [
    ['open', 3],
    ['acknowledged', 0],
    ['recovering', 0],
    ['resolved', 0],
  ] as const) {
    const found = await status({ accounts: accounts!, incidents: incidents({ all: () => [incident({ state })] }) });
    expect([state, found.code]).toEqual([state, code]);
    expect(found.stdout.includes('183 runs')).toBe(state !== 'resolved');
  }
});

test('a reported incident and a pending plan are listed once', async () => {
  const summary = 'Incident in production: 183 runs of app.example.com/invoice failed: HTTP 503';
  const plan = 'Plan 9f3c2a of policy resume-billing is pending approval';
  const keys = { Worse: 'key/1', [summary]: 'incident/i-4711', [plan]: 'approval/resume-billing' };
  const conditions = Object.entries(keys).map(([text, key]) => ({
    key,
    severity: 'critical' as const,
    summary: text,
    detail: 'since',
    since: NOW,
  }));
  const { stdout } = await status({ ...NIGHT, engine: engine({ conditions: () => conditions }) });
  expect(stdout).toContain('Worse: since');
  expect(stdout.match(/183 runs/g)).toHaveLength(2);
  expect(stdout).not.toContain('is pending approval');
});

test('an active approval is listed with its operator, and how to take it back', async () => {
  const stored = storedPlan({
    state: 'approved',
    left: 1,
    by: 'tom',
    approvedBy: 'tom',
    decidedAt: NOW,
    approvedAt: NOW,
  });
  const { stdout } = await status({
    ledger: ledger({ storedPlans: async (states) => (states.includes('approved') ? [stored] : []) }),
  });
  expect(stdout).toContain(
    '  approved  9f3c2a resume-billing: 1 of 2 actions left on production by tom,\n            expires in 1 h\n            opsd reject 9f3c2a\n',
  );
  expect(stdout).not.toContain('opsd approve');
});

test('five incidents are shown, and the number of the others', async () => {
  const all = () => Array.from({ length: 7 }, (_, n) => incident({ id: `i-${n}` }));
  const { stdout } = await status({ ...NIGHT, incidents: incidents({ all }) });
  expect(stdout.match(/183 runs/g)).toHaveLength(5);
  expect(stdout).toContain('            and 2 more\n            opsd incidents\n');
});

test('a pause by an operator is no finding', async () => {
  const pauses = async () => [{ scope: 'engine', reason: 'maintenance', at: NOW, by: 'ann' }];
  expect(await status({ ledger: ledger({ pauses }) })).toMatchObject({ code: 0 });
});

test('a daemon that starts is a finding', async () => {
  const { code, stdout } = await status({ readiness: () => ({ ready: false, detail: 'first round' }) });
  expect(code).toBe(3);
  expect(stdout).toContain('○ Starting: first round.\n');
});

test('without a terminal nothing is wrapped or painted', async () => {
  const { stdout } = await status(NIGHT, [], {});
  expect(stdout).toContain(
    '  problem   ▲ Policy resume-billing is held by arrivals: 183 new entries in 10m, more than 50; the next run checks again\n',
  );
  expect(stdout).not.toContain('\u001B');
});

test('JSON is the response of the API, with the same exit code', async () => {
  const { code, stdout } = await status(NIGHT, ['-o', 'json']);
  expect(code).toBe(3);
  expect(JSON.parse(stdout)).toMatchObject({ verdict: { level: 'trouble' }, pendingPlans: 1, policies: { total: 2 } });
});

test('no daemon is a failure', async () => {
  const { code, stderr } = await opsd(['status', '--socket', join(tempDir(), 'none')]);
  expect(code).toBe(1);
  expect(stderr).toContain('no daemon listens on');
});
