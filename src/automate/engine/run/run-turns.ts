/**
 * Turns of runs: runs each policy once at a time, and starts runs without a schedule: for ready campaigns and for held
 * triggers.
 */
import { isReopening } from '#foundation/domain/campaign.ts';
import type { Trigger } from '#foundation/domain/plan.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { OneByOne } from '#foundation/platform/one-by-one.ts';
import type { StoredPlan } from '../../ledger/plans.ts';
import type { Policy } from '../../policies/policy.ts';
import { grantOf } from './grants.ts';
import { isAskedFirst, isDue, reviewHold } from './holds.ts';
import type { OpenWork } from './open-work.ts';
import { runPolicy, type RunDeps, type PolicyRunOptions } from './run-policy.ts';
import type { RunResult } from './run-result.ts';

/** Minimum milliseconds between two such runs of a policy. */
const CONTINUE_MS = 300_000;
/** Age below which a trigger is new. Failure callbacks are collected for 10 s before their run. */
const FRESH_MS = 30_000;

interface TurnDeps extends RunDeps {
  runSoon(policy: string, trigger: Trigger): void;
}

export class RunTurns {
  readonly #deps: TurnDeps;
  readonly #turns = new Turns();
  readonly #ranAt = new Map<string, number>();
  /** Last runs for events, except runs that were held before they read anything. */
  readonly #triggered = new Map<string, { readonly at: number; readonly key: string }>();

  constructor(deps: TurnDeps) {
    this.#deps = deps;
  }

  /** Runs a policy after its earlier runs have ended. */
  async take(policy: Policy, options: PolicyRunOptions): Promise<RunResult> {
    return this.#turns.take(policy.name, async () => {
      const { clock } = this.#deps;
      this.#ranAt.set(policy.name, clock.monotonic());
      if ('key' in options.trigger)
        this.#triggered.set(policy.name, { at: clock.monotonic(), key: options.trigger.key });
      const result = await runPolicy(policy, options, this.#deps);
      if (isAskedFirst(result.stopped?.guard, this.#deps)) this.#triggered.delete(policy.name);
      return result;
    });
  }

  /**
   * Runs the policies of ready campaigns.
   *
   * @param changed policies whose campaigns have just changed: they run at once
   */
  continueCampaigns({ campaigns, approved }: OpenWork, changed: ReadonlySet<string>): void {
    const { byName, clock } = this.#deps;
    const now = clock.now();
    const due = new Set<string>(this.#openManual(approved, changed));
    for (const campaign of campaigns) {
      const { policy } = campaign;
      const mayGoOn = campaign.state === 'ready' || isReopening(campaign, now);
      const found = byName.get(policy);
      if (!mayGoOn || found === undefined || found.manual !== undefined || this.#turns.waiting(policy) > 0) continue;
      // A policy that runs only manually needs a request for each step, or an approval of all steps.
      if ('byHand' in found.when && grantOf(found, approved, now) === undefined) continue;
      if (changed.has(policy) || !this.#isLately(this.#ranAt.get(policy))) due.add(policy);
    }
    for (const policy of due) this.#deps.runSoon(policy, { kind: 'campaign' });
  }

  /** Manual plans in progress whose next run is due: they have no schedule, and not all actions have a campaign. */
  #openManual(approved: readonly StoredPlan[], changed: ReadonlySet<string>): readonly string[] {
    return approved
      .filter(({ plan }) => plan.manual !== undefined)
      .map(({ plan }) => plan.policy)
      .filter(
        (name) =>
          this.#deps.byName.has(name) &&
          !this.#deps.manual.isUnderWay(name) &&
          (changed.has(name) || !this.#isLately(this.#ranAt.get(name))),
      );
  }

  /** Runs policies whose triggers were held, or arrived just before a crash. */
  async reviewHolds({ approved, triggers }: OpenWork): Promise<void> {
    const { policies, clock } = this.#deps;
    for (const policy of policies) {
      const due = triggers.get(policy.name)?.find((one) => isDue(policy, one, clock.now()));
      const pending = await reviewHold(policy, { pending: due, approved }, this.#deps);
      if (pending === undefined || this.#turns.waiting(policy.name) > 0) continue;
      // The hook that received a new alert or callback starts its run.
      if (pending.trigger.kind !== 'deploy' && Math.abs(clock.now() - pending.at) < FRESH_MS) continue;
      const last = this.#triggered.get(policy.name);
      // A deploy after the last run is news. It starts no run by itself: it has to wait first.
      const isNews = pending.trigger.kind === 'deploy' && pending.trigger.key !== last?.key;
      if (isNews || !this.#isLately(last?.at)) this.#deps.runSoon(policy.name, pending.trigger);
    }
  }

  #isLately(at = -Infinity): boolean {
    return this.#deps.clock.monotonic() - at < CONTINUE_MS;
  }
}

/** Queue that runs each name one at a time. Callers that only want a run share one waiting run. */
class Turns {
  readonly #queues = new Map<string, OneByOne>();
  readonly #waiting = new Map<string, number>();

  /** Runs the work of one name in the order of the calls. */
  take<T>(name: string, work: () => Promise<T>): Promise<T> {
    this.#waiting.set(name, this.waiting(name) + 1);
    return getOrAdd(this.#queues, name, () => new OneByOne()).run(() => {
      this.#waiting.set(name, this.waiting(name) - 1);
      return work();
    });
  }

  /** Number of calls that have not started. */
  waiting(name: string): number {
    return this.#waiting.get(name) ?? 0;
  }
}
