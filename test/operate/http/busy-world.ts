/** A daemon with sources, a policy, runs and actions. */
import { COLLECTOR_NAMES } from '#foundation/domain/observation.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { RunRecord } from '#automate/ledger/reports.ts';
import type { EngineCommands } from '#automate/ledger/commands.ts';
import { action, engine, ledger, NOW, plan, RESUME_BILLING, world, type World } from './world.ts';

export const CANARY = `<script>alert("x")</script>'&`;

export const POLICY: PolicyStatus = {
  ...RESUME_BILLING,
  owner: 'payments',
  description: 'Billing runs get more tries.',
  source: 'policies/billing.yaml:3',
  effectiveMode: 'audit',
  reducedBy: 'engine.mode is audit',
  nextRunAt: NOW + 60_000,
};

export const RUN: RunRecord = {
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
const ASKED = { by: 'local', keep: false };
const STILL = new AbortController().signal;

export function busyWorld(overrides: Partial<World> = {}): World {
  const deps = world({
    policies: async () => [POLICY],
    engine: engine(PLANNED),
    ledger: ledger({
      lastRuns: async () => [RUN],
      recentActions: async (limit) =>
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
