/**
 * Every guard of the literal list is taken out once, by name, and a scenario must then end differently: a guard whose
 * absence nobody notices is not built.
 */
import { describe, expect, test } from 'vitest';
import { GUARDS } from '../../src/guardrails/index.ts';
import { HOUR, NEVER, policyOf, run, sentIds, START, world, type World, type WorldOptions } from './world.ts';

interface Scenario {
  /** What happens, in words. */
  readonly story: string;
  readonly options?: WorldOptions;
  readonly prepare: (w: World) => void;
  /** What is looked at in the end; with the guard in place it must be `held`. */
  readonly look?: (w: World) => Promise<unknown>;
  readonly held: unknown;
}

/** By default: which ids the service was asked to resume. */
const sent = async (w: World): Promise<unknown> => {
  await run(w);
  return sentIds(w);
};

const planned = async (w: World): Promise<unknown> => {
  await run(w);
  const plan = await w.engine.plan('resume-billing', NEVER);
  return plan!.chosen.map((proposal) => proposal.dlqId);
};

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  kill_switch: {
    story: 'a run while paused',
    prepare: (w) => {
      w.dlq.add();
      w.pause = 'file PAUSE';
    },
    held: [],
  },
  complete_read: {
    story: 'a page that fails',
    prepare: (w) => {
      for (let i = 0; i < 5; i++) w.dlq.add();
      w.dlq.failOnPage = 1;
    },
    held: [],
  },
  echo_check: {
    story: 'a service that ignores the label filter',
    prepare: (w) => {
      w.dlq.add({ labels: ['payroll'] });
      w.dlq.ignoreFilters = true;
    },
    held: [],
  },
  sanity: {
    story: 'times in seconds',
    prepare: (w) => void w.dlq.add({ createdAt: START / 1_000 }),
    held: [],
  },
  where: {
    story: 'an expression that fails on half of the entries',
    options: { policy: { where: 'timestamp(entry.workflowUrl) < entry.failedAt' } },
    prepare: (w) => {
      w.dlq.add();
      w.dlq.add({ workflowUrl: '2025-01-01T00:00:00Z' });
    },
    held: [],
  },
  protected: {
    story: 'an entry under legal hold',
    prepare: (w) => void w.dlq.add({ labels: ['billing', 'legal-hold'] }),
    held: [],
  },
  failure_function: {
    story: 'an entry whose compensation runs',
    prepare: (w) => void w.dlq.add({ failureFunctionState: 'CALLBACK_INPROGRESS' }),
    held: [],
  },
  foreign_actor: {
    story: 'an entry that another instance repairs',
    prepare: (w) => void w.dlq.add({ labels: ['billing', 'opsd:elsewhere:abc:1'], createdAt: START - HOUR }),
    held: [],
  },
  attempts: {
    story: 'an entry that was resumed three times',
    prepare: (w) => void w.dlq.add({ labels: ['billing', 'opsd:here:abc:3'] }),
    held: [],
  },
  claim: {
    story: 'an entry that stays listed after a lost answer',
    prepare: (w) => {
      w.dlq.add();
      w.dlq.answers = ['never_arrived'];
    },
    look: async (w) => {
      await run(w);
      await w.clock.advance(HOUR);
      return planned(w);
    },
    held: [],
  },
  caps: {
    story: 'more entries than a run may act on',
    options: { policy: { limits: { maxPerRun: 1 } } },
    prepare: (w) => {
      w.dlq.add();
      w.dlq.add();
    },
    held: ['dlq-001'],
  },
  mode: {
    story: 'a policy in audit',
    options: { policies: [policyOf({ mode: 'audit' })] },
    prepare: (w) => void w.dlq.add(),
    held: [],
  },
  approval: {
    story: 'a policy that waits for a person',
    options: { policies: [policyOf({ mode: 'approve' })] },
    prepare: (w) => void w.dlq.add(),
    held: [],
  },
  more_than_asked: {
    story: 'a service that resumes two runs for one id',
    prepare: (w) => {
      w.dlq.add();
      w.dlq.add();
      w.dlq.answers = ['two_runs'];
    },
    held: ['dlq-001'],
  },
};

async function play(scenario: Scenario, without?: string): Promise<unknown> {
  const guards = GUARDS.filter((guard) => guard.name !== without);
  const w = world({ ...scenario.options, deps: { guards } });
  scenario.prepare(w);
  return (scenario.look ?? sent)(w);
}

describe('every guard is missed when it is taken out', () => {
  test('each has a scenario, and a name of its own', () => {
    expect(Object.keys(SCENARIOS)).toEqual(GUARDS.map((guard) => guard.name));
  });

  test.each(Object.entries(SCENARIOS).map(([name, scenario]) => [name, scenario.story, scenario] as const))(
    '%s: %s',
    async (name, _story, scenario) => {
      expect(await play(scenario)).toEqual(scenario.held);
      expect(await play(scenario, name)).not.toEqual(scenario.held);
    },
  );
});
