/**
 * Removes every guard of the list once, by name, and expects a scenario to end differently. A guard that no scenario
 * misses counts as not built.
 */
import { describe, expect, test } from 'vitest';
import { GUARDS } from '#automate/guardrails/index.ts';
import type { Ledger } from '#automate/ledger/ledger.ts';
import type { PreconditionFacts } from '#automate/policies/facts.ts';
import type { Policy } from '#automate/policies/policy.ts';
import { policyOf as anyPolicy } from '../../support/policies.ts';
import {
  changed,
  HOUR,
  MINUTE,
  NEVER,
  policyOf,
  run,
  sentIds,
  START,
  type World,
  type WorldOptions,
  world,
} from './world.ts';

interface Scenario {
  /** Description of the scenario. */
  readonly story: string;
  /** By default, the world has one entry. */
  readonly options?: WorldOptions;
  readonly prepare?: (w: World) => void;
  /** Final observation; with the guard in place it must be `held`. Default: nothing was sent. */
  readonly look?: (w: World) => Promise<unknown>;
  readonly held?: unknown;
}

/** Default observation: the ids that the service was requested to resume. */
const sent = async (w: World): Promise<unknown> => {
  await run(w);
  return sentIds(w);
};

/** Observes the budget set by two runs, twenty minutes apart, each with its own reading. */
const raised = async (w: World): Promise<unknown> => {
  for (let i = 0; i < 2; i++) {
    await w.engine.run('raise-budget', NEVER);
    await w.clock.advance(20 * MINUTE);
  }
  return w.dlq.budgets;
};

const raises = (over: object = {}): WorldOptions => ({
  policies: [anyPolicy('budget.raise', { name: 'raise-budget', account: 'production', mode: 'enforce', ...over })],
});

/** A budget of 100 dollars that is spent in ten hours, with otherwise usual figures. */
function near(w: World, over: { spend?: object; known?: object } = {}): void {
  const spend = { monthUsd: 90, last24hUsd: 5, medianDayUsd: 4, hoursLeft: 10, fresh: true, ...over.spend };
  const known = {
    knownUsd: 100,
    origin: 'configuration' as const,
    assertedAt: START,
    maxAgeMs: 45 * 24 * HOUR,
    ...over.known,
  };
  w.facts = { budget: () => ({ spend: { ...spend, at: w.clock.now() }, known }) };
}

/**
 * Observes the deletes of three runs, two hours apart. Grace and probation of `deletes` allow them from the third on.
 */
const deleted = async (w: World): Promise<unknown> => {
  for (let i = 0; i < 3; i++) {
    await w.engine.run('delete-hopeless', NEVER);
    await w.clock.advance(2 * HOUR);
  }
  return w.dlq.deleted;
};

const ACTING = { account: 'production', mode: 'enforce', limits: { probation: { runs: 1 } } };
/** Entries of two groups, so that no ramp restricts them. */
const TWO_GROUPS = ['a', 'b'].map((host) => ({ workflowUrl: `https://${host}.example.com/` }));

/** A policy that deletes, restricted only by the guard under test. */
function deletes(over: Readonly<Record<string, unknown>> = {}): Policy {
  return anyPolicy('workflow-dlq.delete', {
    ...ACTING,
    name: 'delete-hopeless',
    where: 'has(entry.status) && entry.status >= 400',
    action: { archive: { dir: '/nonexistent', require: false }, grace: '1h' },
    ...over,
  });
}

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  kill_switch: {
    story: 'a run while paused',
    prepare: (w) => void (w.pause = 'file PAUSE'),
  },
  lease: {
    story: 'a store that another process has taken over',
    prepare: (w) => {
      w.restart({
        ledger: changed(w.ledger, { leaseLost: async () => 'another process has the store' }),
        guards: w.guards,
      });
    },
  },
  clock: {
    story: 'a local clock that is two minutes ahead of the service',
    options: { entries: 1, facts: { clockSkewMs: () => 2 * MINUTE } },
  },
  window: {
    story: 'a Thursday, where the policy is allowed to act on Mondays',
    options: { policy: { windows: [{ days: 'mon', from: '06:00', to: '22:00', timezone: 'UTC' }] } },
  },
  precondition: {
    story: 'an alert that fires',
    options: {
      policy: { preconditions: [{ name: 'no incident', expr: '!alertFiring("BillingDown")' }] },
      facts: { preconditions: () => ({ alertFiring: () => true }) as unknown as PreconditionFacts },
    },
  },
  min_interval: {
    story: 'a second run within the least interval',
    options: { policy: { limits: { minInterval: '1h', maxPerRun: 1 } }, entries: TWO_GROUPS },
    look: async (w) => {
      await run(w);
      return sent(w);
    },
    held: ['dlq-001'],
  },
  cool_down: {
    story: 'a prune ten minutes after one whose answer was lost',
    options: { policies: [anyPolicy('message-dlq.prune', { ...ACTING, name: 'prune' })] },
    prepare: (w) => {
      w.dlq.messages = 500;
      w.dlq.answers = ['lost'];
    },
    look: async (w) => {
      // The first run is on probation.
      for (let i = 0; i < 3; i++) {
        await w.engine.run('prune', NEVER);
        await w.clock.advance(10 * MINUTE);
      }
      return w.dlq.pruned;
    },
    held: [1],
  },
  incomplete_read: {
    story: 'a page that fails',
    options: { entries: 5 },
    prepare: (w) => void (w.dlq.failOnPage = 1),
  },
  filter_mismatch: {
    story: 'a service that ignores the label filter',
    options: { entries: [{ labels: ['payroll'] }] },
    prepare: (w) => void (w.dlq.ignoreFilters = true),
  },
  implausible_data: {
    story: 'times in seconds',
    options: { entries: [{ createdAt: START / 1_000 }] },
  },
  where: {
    story: 'an expression that fails on half of the entries',
    options: {
      policy: { where: 'timestamp(entry.workflowUrl) < entry.failedAt' },
      entries: [{}, { workflowUrl: '2025-01-01T00:00:00Z' }],
    },
  },
  protected: {
    story: 'an entry under legal hold',
    options: { entries: [{ labels: ['billing', 'legal-hold'] }] },
  },
  failure_function: {
    story: 'an entry whose compensation runs',
    options: { entries: [{ failureFunctionState: 'CALLBACK_INPROGRESS' }] },
  },
  body: {
    story: 'a failed message whose body is not kept',
    options: {
      policies: [anyPolicy('message-dlq.republish', { name: 'republish', account: 'production', mode: 'enforce' })],
      deps: { bodies: { states: async (_account, [id = '']) => new Map([[id, { reason: 'no body is kept' }]]) } },
    },
    look: async (w) => {
      const letter = { dlqId: 'd-1', messageId: 'm-1', url: 'https://app.example.com/hook', status: 503, labels: [] };
      await w.ledger.noteDeadLetter({ ...letter, account: 'production', learnedAt: START - HOUR });
      const made = await w.engine.plan('republish', { by: 'test', keep: false }, NEVER);
      return made.ok && made.plan.chosen.map(({ target }) => target);
    },
  },
  other_instance: {
    story: 'an entry that another instance repairs',
    options: { entries: [{ labels: ['billing', 'opsd:elsewhere:abc:1'], createdAt: START - HOUR }] },
  },
  deploy: {
    story: 'an entry that waits for a deploy',
    options: { policy: { on: { deploy: true } }, entries: 1 },
  },
  attempts: {
    story: 'an entry that was resumed three times',
    options: { entries: [{ labels: ['billing', 'opsd:here:abc:3'] }] },
  },
  claim: {
    story: 'an entry that a policy repairs, and another would delete',
    options: { policies: [policyOf(), deletes()] },
    look: deleted,
  },
  grace: {
    story: 'an entry that is matched for the first time',
    options: {
      policies: [deletes({ action: { archive: { dir: '/nonexistent', require: false }, grace: '72h' } })],
      entries: [{ responseStatus: 404 }],
    },
    look: deleted,
  },
  quota: {
    story: 'an account that was refused with 429 a minute ago',
    options: { entries: 1, facts: { refusedAt: () => START - 60_000 } },
  },
  tripwire: {
    story: 'a delete that means more than a quarter of all entries',
    options: { policies: [deletes()], entries: Array.from({ length: 30 }, () => ({ responseStatus: 404 })) },
    prepare: (w) => w.observe(),
    look: async (w) => {
      await deleted(w);
      return w.dlq.deleted.length;
    },
    held: 0,
  },
  destination: {
    story: 'a destination that still fails',
    options: { entries: 1, facts: { deliveries: () => ({ delivered: 10, all: 40 }) } },
  },
  arrivals: {
    story: 'failures that still pour in',
    prepare: (w) => {
      for (let i = 0; i < 40; i++) w.dlq.add({ labels: ['other'], createdAt: START - 60_000 });
      w.observe();
    },
  },
  ramp: {
    story: 'a second entry of a group whose first is not verified yet',
    options: { entries: 2 },
    held: ['dlq-001'],
  },
  known_budget: {
    story: 'a spend that proves the known budget wrong',
    options: raises(),
    prepare: (w) => near(w, { spend: { monthUsd: 111 } }),
    look: raised,
  },
  confirmation: {
    story: 'a first reading',
    options: raises(),
    prepare: near,
    look: async (w) => {
      await w.engine.run('raise-budget', NEVER);
      return w.dlq.budgets;
    },
  },
  raise_limits: {
    story: 'a second raise where one a month is allowed',
    options: raises({ limits: { maxPerMonth: 1, minInterval: '1h' } }),
    prepare: near,
    look: async (w) => {
      await raised(w);
      await w.clock.advance(2 * HOUR);
      return raised(w);
    },
    held: [120],
  },
  surge: {
    story: 'a day that costs five times the usual',
    options: raises(),
    prepare: (w) => near(w, { spend: { last24hUsd: 20 } }),
    look: raised,
  },
  caps: {
    story: 'more entries than a run is allowed to act on',
    options: { policy: { limits: { maxPerRun: 1 } }, entries: TWO_GROUPS },
    held: ['dlq-001'],
  },
  mode: {
    story: 'a policy in audit',
    options: { policies: [policyOf({ mode: 'audit' })] },
  },
  probation: {
    story: 'the first run of a policy that deletes',
    options: { policies: [deletes({ limits: { probation: { runs: 3 } } })], entries: [{ responseStatus: 404 }] },
    look: deleted,
  },
  approval: {
    story: 'a policy that waits for approval',
    options: { policies: [policyOf({ mode: 'approve' })] },
  },
  exceeded_request: {
    story: 'a service that resumes two runs for one id',
    options: { entries: TWO_GROUPS },
    prepare: (w) => void (w.dlq.answers = ['two_runs']),
    held: ['dlq-001'],
  },
  outcome_mismatch: {
    story: 'a run that loses count',
    prepare: (w) => {
      w.restart({ ledger: losingCount(w.ledger), guards: w.guards });
    },
    look: async (w) => {
      await run(w);
      return (await w.engine.statuses())[0]!.effectiveMode;
    },
    held: 'off',
  },
};

/** Simulates a bug in the count: later reads of the plan differ. */
function losingCount(ledger: Ledger): Ledger {
  return {
    ...ledger,
    async beginRun(plan, at) {
      const id = await ledger.beginRun(plan, at);
      const { chosen } = plan;
      let reads = 0;
      Object.defineProperty(plan, 'chosen', { get: () => (reads++ === 0 ? chosen : [...chosen, ...chosen]) });
      return id;
    },
  };
}

async function play(scenario: Scenario, without?: string): Promise<unknown> {
  const guards = GUARDS.filter((guard) => guard.name !== without);
  const w = world({ entries: 1, ...scenario.options, guards });
  scenario.prepare?.(w);
  return (scenario.look ?? sent)(w);
}

describe('every guard is missed when it is removed', () => {
  test('each has a scenario, and its own name', () => {
    expect(Object.keys(SCENARIOS)).toEqual(GUARDS.map((guard) => guard.name));
  });

  test.each(Object.entries(SCENARIOS).map(([name, scenario]) => [name, scenario.story, scenario] as const))(
    '%s: %s',
    async (name, _story, scenario) => {
      const { held = [] } = scenario;
      expect(await play(scenario)).toEqual(held);
      expect(await play(scenario, name)).not.toEqual(held);
    },
  );
});
