/** Runs policies in turn, and starts the runs that no schedule starts: of ready campaigns and of held triggers. */
import type { Trigger } from '#foundation/domain/plan.ts';
import type { Policy } from '../policies/policy.ts';
import { grantOf } from './grants.ts';
import { isAskedFirst, reviewHold } from './holds.ts';
import { runPolicy, type RunDeps, type RunOptions } from './run-policy.ts';
import type { RunResult } from './run-result.ts';
import { Turns } from './turns.ts';

/** Shortest time between two such runs of a policy, milliseconds. */
const CONTINUE_MS = 300_000;
/** Failure callbacks are gathered for 10 s before the policy runs for them. */
const FRESH_MS = 30_000;

interface TurnDeps extends RunDeps {
  readonly byName: ReadonlyMap<string, Policy>;
  runSoon(policy: string, trigger: Trigger): void;
}

export class RunTurns {
  readonly #deps: TurnDeps;
  readonly #turns = new Turns();
  readonly #ranAt = new Map<string, number>();
  /** Runs for alerts and callbacks, without those that were held before they read anything. */
  readonly #triggeredAt = new Map<string, number>();

  constructor(deps: TurnDeps) {
    this.#deps = deps;
  }

  /** Runs a policy once its earlier runs have ended. */
  async take(policy: Policy, options: RunOptions): Promise<RunResult> {
    return this.#turns.take(policy.name, async () => {
      const { clock } = this.#deps;
      this.#ranAt.set(policy.name, clock.monotonic());
      if ('key' in options.trigger) this.#triggeredAt.set(policy.name, clock.monotonic());
      const result = await runPolicy(policy, options, this.#deps);
      if (isAskedFirst(result.stopped?.guard, this.#deps)) this.#triggeredAt.delete(policy.name);
      return result;
    });
  }

  /** Runs the policies of ready campaigns. @param changed policies whose campaigns have just changed: they run at once */
  continueCampaigns(changed: ReadonlySet<string>): void {
    const { byName, clock, ledger } = this.#deps;
    const now = clock.now();
    const due = new Set<string>();
    for (const { policy, state, until = 0 } of ledger.campaigns()) {
      const mayGoOn = state === 'ready' || (state === 'halted' && until <= now);
      const found = byName.get(policy);
      if (!mayGoOn || found === undefined || this.#turns.waiting(policy) > 0) continue;
      // A policy that runs only by hand needs a request for each step, or an approval of all steps.
      if ('byHand' in found.when && grantOf(found, ledger, now) === undefined) continue;
      if (changed.has(policy) || !this.#isLately(this.#ranAt.get(policy))) due.add(policy);
    }
    for (const policy of due) this.#deps.runSoon(policy, { kind: 'campaign' });
  }

  /** Runs policies whose triggers were held, or came just before a crash. */
  reviewHolds(): void {
    const { policies, clock } = this.#deps;
    for (const policy of policies) {
      const pending = reviewHold(policy, this.#deps);
      if (pending === undefined || this.#turns.waiting(policy.name) > 0) continue;
      // The hook that received a new trigger runs the policy for it.
      if (Math.abs(clock.now() - pending.at) < FRESH_MS) continue;
      if (!this.#isLately(this.#triggeredAt.get(policy.name))) this.#deps.runSoon(policy.name, pending.trigger);
    }
  }

  #isLately(at = -Infinity): boolean {
    return this.#deps.clock.monotonic() - at < CONTINUE_MS;
  }
}
