/**
 * Unit test of policies: the complete engine over a service without a network, with an empty ledger and a manual clock.
 */
import { deployedPart } from '#foundation/domain/deploy.ts';
import type { Trigger } from '#foundation/domain/plan.ts';
import { createEngine, type Engine } from '../engine/engine.ts';
import { GUARDS } from '../guardrails/index.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { ObservationBoard } from '#observe/observations/board.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { EventBus } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { compilePolicy } from '../policies/compile-policy.ts';
import { isResume, type Policy } from '../policies/policy.ts';
import type { PolicySettings } from '../policies/settings.ts';
import { differences, type Difference } from './compare.ts';
import { againOf, FakeService } from './fake-service.ts';
import { engineFacts, type ToldFacts } from './given-facts.ts';
import { entriesOf, deadLetterOf, Past } from './given.ts';
import type { PolicyTest, TestEntry, TestStep } from './settings.ts';
import { decisionView } from './view.ts';

export interface TestedPolicy {
  readonly settings: PolicySettings;
  /** `file:line` */
  readonly source: string;
}

/** Result of a step that differs from the expected one. */
export interface FailedStep {
  /** Index from 0; -1 for the given part. */
  readonly step: number;
  /** Error that kept the step from running. */
  readonly problem?: string;
  readonly differences: readonly Difference[];
}

const NEVER = new AbortController().signal;
const MINUTE_MS = 60_000;
/** Maximum settlings in one advance: one for each minute of a day. Each result is still learned at its own time. */
const MOST_SETTLINGS = 1_440;

/**
 * Runs a test until the first failed step, since later steps depend on it. @param createLedger creates an empty ledger
 */
export async function runPolicyTest(
  test: PolicyTest,
  policies: readonly TestedPolicy[],
  createLedger: () => Ledger,
): Promise<FailedStep | undefined> {
  let scenario: Scenario;
  try {
    scenario = new Scenario(test, policies, createLedger());
    await scenario.give(test);
  } catch (error) {
    return { step: -1, problem: errorMessage(error), differences: [] };
  }
  for (const [index, step] of test.steps.entries()) {
    try {
      const found = await scenario.take(step);
      if (found.length > 0) return { step: index, differences: found };
    } catch (error) {
      return { step: index, problem: errorMessage(error), differences: [] };
    }
  }
  return undefined;
}

class Scenario {
  readonly #clock: ManualClock;
  readonly #policies: readonly Policy[];
  readonly #service: FakeService;
  readonly #ledger: Ledger;
  readonly #board: ObservationBoard;
  readonly #engine: Engine;
  readonly #bodiless = new Set<string>();
  #told: ToldFacts;

  constructor(test: PolicyTest, tested: readonly TestedPolicy[], ledger: Ledger) {
    const clock = (this.#clock = new ManualClock(test.now));
    const events = new EventBus();
    this.#policies = tested.map(({ settings, source }) =>
      compilePolicy(test.mode === undefined ? settings : { ...settings, mode: test.mode }, source),
    );
    const accounts = [...new Set(this.#policies.map(({ account }) => account))];
    const { dlqRetention: dlqRetentionMs, ...terms } = test.account;
    const service = (this.#service = new FakeService(accounts, clock, events));
    this.#ledger = ledger;
    this.#board = new ObservationBoard(clock);
    for (const account of accounts) {
      const every = { schedule: 'every 1m', intervalMs: MINUTE_MS, maxStalenessMs: 5 * MINUTE_MS };
      this.#board.register({ account, collector: 'workflowDlq', ...every });
    }
    this.#told = { facts: {}, at: test.now };
    this.#engine = createEngine({
      policies: this.#policies,
      bodies: { states: async (_account, ids) => new Map(ids.map((id) => [id, this.#bodyOf(id)])) },
      settings: test.engine,
      accounts: new Map(accounts.map((account) => [account, { ...terms, dlqRetentionMs }])),
      actions: service.actions,
      ledger,
      board: this.#board,
      facts: engineFacts(() => this.#told, { ledger, service, clock }),
      clock,
      events,
      killSwitch: () => undefined,
      listEveryMs: 0,
      guards: GUARDS,
      // The steps of a test start all runs.
      runSoon: () => undefined,
    });
  }

  /** @returns differences from the expected result */
  async take(step: TestStep): Promise<readonly Difference[]> {
    const { advance, entries, remove, deadLetters, facts, failAgain, deploy, pause, unpause, approve, answers } = step;
    if (advance !== undefined) await this.#advance(advance);
    await this.#addEntries(entries ?? []);
    for (const dlqId of remove ?? []) {
      if (!this.#service.entries.delete(dlqId))
        throw new Error(`entry ${dlqId} does not exist, so it cannot be removed`);
    }
    await this.#addDeadLetters(deadLetters ?? []);
    if (facts !== undefined) this.#tell(facts);
    for (const dlqId of failAgain ?? []) {
      if (await this.#failMessage(dlqId)) continue;
      const why = this.#service.failAgain(dlqId);
      if (why !== undefined) throw new Error(why);
    }
    if (deploy !== undefined) await this.#deploy(deploy);
    if (pause !== undefined) await this.#engine.pause({ reason: pause, by: 'test' });
    if (unpause !== undefined) await this.#engine.unpause({ reason: unpause, by: 'test' });
    if (approve !== undefined) await this.#approve(approve);
    this.#service.answers.push(...(answers ?? []));
    const decides = step.run ?? step.plan;
    return decides === undefined ? [] : this.#decide(decides, step);
  }

  /** Makes a message that was published again fail, and reports its dead letter. @returns false if there is none */
  async #failMessage(dlqId: string): Promise<boolean> {
    const labels = this.#service.failMessage(dlqId);
    if (labels === undefined) return false;
    for (const account of this.#service.actions.accounts) {
      const before = (await this.#ledger.deadLetters(account)).find((one) => one.dlqId === dlqId)!;
      const again = { dlqId: `${dlqId}-again`, messageId: againOf(dlqId), learnedAt: this.#clock.now(), labels };
      await this.#ledger.noteDeadLetter({ ...before, ...again });
    }
    return true;
  }

  async #deploy({ version, of, failed }: NonNullable<TestStep['deploy']>): Promise<void> {
    const parts = of.map((text) => deployedPart(text)!);
    for (const account of new Set(this.#policies.map((policy) => policy.account))) {
      const deploy = { account, of: parts, version, at: this.#clock.now(), failed, by: 'test' };
      // The steps of a test start all runs, so a deploy triggers none.
      await this.#ledger.recordDeploy(deploy, []);
    }
  }

  async #decide(name: string, { run, expect = {} }: TestStep): Promise<readonly Difference[]> {
    this.#observe();
    const planned = await this.#engine.plan(name, { by: 'test', keep: false }, NEVER);
    if (!planned.ok) throw new Error(planned.message);
    if (run === undefined) return differences(expect, decisionView(planned.plan));
    const result = await this.#engine.run(name, NEVER, triggerOf(this.#policy(name)));
    if (result.error !== undefined) throw new Error(result.error);
    return differences(expect, decisionView(planned.plan, { result, sent: this.#service.takeSent() }));
  }

  /**
   * Advances the clock in slices. The daemon settles every few seconds; one settling a minute gives the same results.
   */
  async #advance(ms: number): Promise<void> {
    const slices = Math.min(MOST_SETTLINGS, Math.max(1, Math.ceil(ms / MINUTE_MS)));
    for (let slice = 1; slice <= slices; slice++) {
      await this.#clock.advance(Math.floor((ms * slice) / slices) - Math.floor((ms * (slice - 1)) / slices));
      this.#observe();
      await this.#engine.settle(NEVER);
    }
  }

  /** Publishes the whole workflow DLQ as a complete batch, as the collector does. */
  #observe(): void {
    const rows = [...this.#service.entries.values()];
    for (const account of this.#service.actions.accounts) {
      this.#board.publish({ account, collector: 'workflowDlq', at: this.#clock.now(), rows, dropped: 0 }, 1);
    }
  }

  /** Gives the engine what the test states. */
  async give({ given, now }: PolicyTest): Promise<void> {
    const past = new Past(this.#ledger, now);
    this.#tell(given.facts);
    await this.#addEntries(given.entries, past);
    await this.#addDeadLetters(given.deadLetters);
    for (const one of given.raises) await past.raise(this.#policyOr(one.policy, 'budget.raise'), one);
    for (const one of given.acted) await past.acted(this.#policyOr(one.policy), one);
    for (const one of given.campaigns) await this.#campaign(one, now);
    if (!given.pastProbation) return;
    for (const policy of this.#policies) {
      await this.#ledger.savePolicyVersion(policy, { scope: policy.scope, auditRuns: policy.limits.probationRuns });
    }
  }

  async #campaign(one: PolicyTest['given']['campaigns'][number], now: number): Promise<void> {
    const policy = this.#policyOr(one.policy, 'workflow-dlq.resume');
    const { policy: _policy, until, ...given } = one;
    const { group, state, judged, verified } = given;
    const of = { policy: policy.name, account: policy.account, group };
    await this.#ledger.changeCampaign(of, () => ({
      ...given,
      ...of,
      id: '',
      begunAt: now,
      recent: Array.from({ length: Math.min(50, judged) }, (_, index) => index >= judged - verified),
      ...(verified > 0 && state === 'ready' && { verifiedAt: now }),
      ...(until !== undefined && { until: now + until }),
    }));
  }

  async #addEntries(given: readonly TestEntry[], past = new Past(this.#ledger, this.#clock.now())): Promise<void> {
    for (const one of given) {
      for (const entry of entriesOf(one, this.#clock.now())) {
        if (this.#service.entries.has(entry.dlqId)) throw new Error(`two entries have the id ${entry.dlqId}`);
        this.#service.entries.set(entry.dlqId, entry);
        if (one.attempts !== undefined) await past.attempts(this.#resumer(), entry, one.attempts);
      }
    }
  }

  async #addDeadLetters(given: PolicyTest['given']['deadLetters']): Promise<void> {
    for (const deadLetter of given) {
      if (!deadLetter.body) this.#bodiless.add(deadLetter.dlqId);
      for (const account of this.#service.actions.accounts) {
        await this.#ledger.noteDeadLetter(deadLetterOf(deadLetter, account, this.#clock.now()));
      }
    }
  }

  #bodyOf(dlqId: string) {
    return this.#bodiless.has(dlqId) ? { reason: 'no body is kept' } : { size: 0, until: Infinity };
  }

  #tell(facts: TestStep['facts'] & object): void {
    this.#told = { facts: { ...this.#told.facts, ...facts }, at: this.#clock.now() };
    if (facts.dlqMessages !== undefined) this.#service.messages = facts.dlqMessages;
  }

  async #approve(name: string): Promise<void> {
    const plans = await this.#ledger.storedPlans(['pending'], this.#clock.now());
    const pending = plans.find(({ plan }) => plan.policy === name);
    if (pending === undefined) throw new Error(`no plan of ${name} is pending approval`);
    const decided = await this.#engine.approve(pending.plan.id, { by: 'test' });
    if (!decided.ok) throw new Error(decided.message);
  }

  #policy(name: string): Policy {
    return this.#policies.find((policy) => policy.name === name)!;
  }

  /** Named policy, or the only policy with the action. */
  #policyOr(name: string | undefined, action?: Policy['action']['type']): Policy {
    if (name !== undefined) return this.#policy(name);
    const fitting = this.#policies.filter((policy) => action === undefined || policy.action.type === action);
    const [only] = fitting;
    if (fitting.length > 1) throw new Error('the given item names no policy, and the file has several; add policy');
    if (only === undefined) throw new Error(`the given item needs a policy with the action ${action}; add one`);
    return only;
  }

  /** Policy that resumed a run earlier; the test need not contain it. */
  #resumer(): Policy {
    const [first] = this.#policies;
    return this.#policies.find(isResume) ?? { ...first!, name: 'another' };
  }
}

/** Trigger that starts the policy in the daemon. */
function triggerOf({ when }: Policy): Trigger {
  if ('alert' in when) return { kind: 'alert', name: when.alert, key: 'test' };
  if ('failureCallback' in when) return { kind: 'callback', key: 'test' };
  if ('afterDeploy' in when) return { kind: 'deploy', name: 'test', key: 'test', at: 0 };
  return { kind: 'byHand' in when ? 'hand' : 'schedule' };
}
