/**
 * Authority to act: pauses, the kill switch, the lease, windows, preconditions, and the most restrictive mode. The
 * engine checks it before the plan and again before every request.
 */
import { leastMode, type PolicyMode, type Trigger } from '#foundation/domain/plan.ts';
import type { ActivePause, RunFacts } from '../../guardrails/guard.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { OneByOne } from '#foundation/platform/one-by-one.ts';
import type { Policy } from '../../policies/policy.ts';
import { isNarrower } from '../../policies/scope.ts';
import { nextWindow } from '../../policies/window.ts';
import { killSwitchScope, type Pause, type Pauses } from '../../ledger/pauses.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { PolicyMemory, PolicyVersion } from '../../ledger/runs.ts';
import { clockMargin } from './checks.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';

/** Lookback for actions with unknown outcome, longer than any guard waits for one. */
const DAY_MS = 86_400_000;

/** Facts of the ledger about the authority of a policy. */
export interface StoredAuthority {
  readonly pauses: readonly Pause[] | string;
  readonly leaseLost: string | undefined;
  readonly lastIntentAt: number | undefined;
  readonly lastUnknownAt: number | undefined;
}

export interface EffectiveMode {
  readonly mode: PolicyMode;
  /** Reason why the mode is more restrictive than the policy's own. */
  readonly reducedBy?: string;
}

export class Authority {
  readonly #deps: EngineDeps;
  /** Pauses that could not be stored yet. They hold only here. */
  readonly #unwritten: Map<string, Pause>;
  readonly #changes = new OneByOne();
  /** State of the kill switch in the last record. */
  #noted: { readonly reason: string | undefined } | undefined;

  constructor(deps: EngineDeps) {
    this.#deps = deps;
    this.#unwritten = deps.unwrittenPauses ?? new Map();
  }

  /** Pauses that could not be stored yet, by scope. They exist nowhere else. */
  unwrittenPauses(): Map<string, Pause> {
    return this.#unwritten;
  }

  /**
   * Pauses a scope until an operator lifts the pause. The pause survives restarts: a restart must not restore the trust
   * in an automation.
   */
  async pause(scope: string, reason: string, by = 'engine'): Promise<void> {
    const { ledger, clock, events } = this.#deps;
    const pause = { scope, reason, at: clock.now(), by };
    try {
      await ledger.pause(pause);
      this.#unwritten.delete(scope);
    } catch (error) {
      this.#unwritten.set(scope, pause);
      events.emit({ type: 'store.failed', operation: 'pause', message: errorMessage(error) });
    }
    events.emit({ type: 'engine.paused', scope, reason });
  }

  /** Stores the pauses that could not be stored before: they then hold on all replicas, and after a restart. */
  async storeUnwritten(): Promise<void> {
    if (this.#unwritten.size === 0) return;
    await this.#changes.run(async () => {
      try {
        for (const [scope, pause] of this.#unwritten) {
          await this.#deps.ledger.pause(pause);
          this.#unwritten.delete(scope);
        }
      } catch {
        // The first failure was reported, and the pause still holds here.
      }
    });
  }

  /** @returns the number of lifted pauses */
  async unpause(lifted: { readonly scope?: string; readonly reason: string; readonly by: string }): Promise<number> {
    return this.#changes.run(async () => {
      const { ledger, clock, events } = this.#deps;
      const unwritten = [...this.#unwritten.keys()].filter((scope) => (lifted.scope ?? scope) === scope);
      const count = (await ledger.unpause({ ...lifted, at: clock.now() })) + unwritten.length;
      for (const scope of unwritten) this.#unwritten.delete(scope);
      events.emit({ type: 'engine.unpaused', lifted: count, reason: lifted.reason });
      return count;
    });
  }

  /** Pause of this policy or of the engine. */
  async paused(policy: Policy): Promise<ActivePause | undefined> {
    return (await this.allPaused([policy])).get(policy.name);
  }

  /** Pauses of policies or of the engine, by policy. */
  async allPaused(
    policies: readonly Policy[],
    ledger: Pick<Pauses, 'pauses'> = this.#deps.ledger,
  ): Promise<ReadonlyMap<string, ActivePause | undefined>> {
    const stored = await this.#storedPauses(ledger);
    return new Map(policies.map((policy) => [policy.name, this.#pauseOf(policy, stored)]));
  }

  /** Pause of the policy, or of the engine if there is no policy: what remains after pauses were lifted. */
  async stillPaused(policy?: string): Promise<string | undefined> {
    const scopes = policy === undefined ? ['engine'] : ['engine', policyScope(policy)];
    const pause = this.#pausedBy(await this.#storedPauses(), scopes) ?? this.killSwitch;
    return pause && `${pause.reason}; ${pause.remedy}`;
  }

  /** Returns a pause that this process knows without the store: an unwritten one, or the kill switch. */
  pausedHere(policy: Policy): ActivePause | undefined {
    return this.#pauseOf(policy, []);
  }

  /**
   * Returns whether each scope is paused itself.
   *
   * @param scopes `engine`, or scopes from `policyScope`
   */
  async arePaused(scopes: readonly string[], ledger?: Pick<Pauses, 'pauses'>): Promise<ReadonlyMap<string, boolean>> {
    const stored = await this.#storedPauses(ledger);
    const reason = (scope: string) =>
      this.#pausedBy(stored, [scope]) ?? (scope === 'engine' ? this.killSwitch : undefined);
    return new Map(scopes.map((scope) => [scope, reason(scope) !== undefined]));
  }

  /** Reads the ledger for `runFacts`. */
  async stored({ name, account, action, limits }: Policy, ledger: Ledger): Promise<StoredAuthority> {
    const since = this.#deps.clock.now() - DAY_MS;
    const [pauses, leaseLost, lastIntentAt, lastUnknownAt] = await Promise.all([
      this.#storedPauses(ledger),
      ledger.leaseLost(account),
      limits.minInterval > 0 ? ledger.lastIntentAt(name) : undefined,
      action.type === 'message-dlq.prune' ? ledger.lastUnknownAt(name, since) : undefined,
    ]);
    return { pauses, leaseLost, lastIntentAt, lastUnknownAt };
  }

  /**
   * @param at `first`: before the plan; else again before a request
   * @param read facts of the ledger, if they were just read
   */
  async runFacts(
    policy: Policy,
    at: { readonly first: boolean; readonly trigger?: Trigger },
    read?: StoredAuthority,
  ): Promise<RunFacts> {
    const { clock, ledger, facts } = this.#deps;
    const { trigger } = at;
    const stored = read ?? (await ledger.view((view) => this.stored(policy, view)).catch(unreadable));
    const now = clock.now();
    const time = { now, clockSkewMs: facts.clockSkewMs(policy.account) };
    const isUnread = typeof stored === 'string';
    const paused = this.#pauseOf(policy, isUnread ? stored : stored.pauses);
    if (isUnread || paused !== undefined) return { paused, unmet: [], minInterval: 0, ...time };
    const { leaseLost } = stored;
    const opensAt = nextWindow(policy.windows, now);
    const minInterval = at.first ? policy.limits.minInterval : 0;
    const lastIntentAt = minInterval > 0 ? this.#latest(stored.lastIntentAt) : undefined;
    const lastUnknownAt = this.#latest(stored.lastUnknownAt);
    const known = policy.preconditions.length > 0 ? await facts.preconditions(policy.account) : undefined;
    const unmet = (known === undefined ? [] : policy.preconditions).flatMap((condition) => {
      const verdict = condition.evaluate(known!, trigger);
      return verdict === 'match' ? [] : [{ name: condition.name, verdict }];
    });
    return {
      leaseLost,
      opensAt,
      unmet,
      lastIntentAt,
      lastUnknownAt,
      minInterval,
      ...time,
    };
  }

  /** Most restrictive mode of policy, account, engine, environment and the store's own state. */
  mode(policy: Pick<Policy, 'account' | 'mode'>): EffectiveMode {
    const { settings, accounts, ceiling, ledger } = this.#deps;
    const adopt = ledger.mustBeAdopted;
    const auditOnly = this.#deps.auditOnly?.();
    const all: readonly (readonly [PolicyMode, string])[] = [
      [settings.mode, `engine.mode is ${settings.mode}`],
      [accounts.get(policy.account)?.mode ?? 'enforce', `the mode of account ${policy.account}`],
      [ceiling ?? 'enforce', `OPSD_MODE is ${ceiling ?? 'enforce'}`],
      [auditOnly === undefined ? 'enforce' : 'audit', auditOnly ?? ''],
      [adopt === undefined ? 'enforce' : 'audit', adopt ?? ''],
    ];
    const mode = leastMode(policy.mode, ...all.map(([one]) => one));
    return { mode, reducedBy: mode === policy.mode ? undefined : all.find(([one]) => one === mode)?.[1] };
  }

  /** Number of audit runs that a new or widened policy still has to make. */
  async probationLeft(policy: Policy): Promise<number> {
    return (await this.probations([policy])).get(policy.name)!;
  }

  /** `probationLeft` of each policy, by its name. */
  async probations(
    policies: readonly Policy[],
    ledger: Pick<PolicyMemory, 'policyVersions'> = this.#deps.ledger,
  ): Promise<ReadonlyMap<string, number>> {
    const versions = await ledger.policyVersions(policies.map(({ name }) => name));
    return new Map(policies.map((policy) => [policy.name, leftOf(policy, versions.get(policy.name))]));
  }

  /**
   * Records a run that made a decision, within the turn of its policy. `audited`: probation held the run.
   *
   * @param version stored version of the policy
   */
  async noteRun(policy: Policy, audited: boolean, version: PolicyVersion | undefined): Promise<void> {
    const isSame = version !== undefined && isNarrower(version.scope, policy.scope);
    const auditRuns = (isSame ? version.auditRuns : 0) + (audited ? 1 : 0);
    if (isSame && !audited && sameScope(version.scope, policy.scope)) return;
    await this.#deps.ledger.savePolicyVersion(policy, { scope: policy.scope, auditRuns });
  }

  /** Returns the latest time at which something with a stored time can have happened. */
  #latest(at: number | undefined): number | undefined {
    return at && at + clockMargin(at, this.#deps);
  }

  /** Returns the pause of a policy or of the engine, or the kill switch. */
  #pauseOf({ name }: Policy, stored: readonly Pause[] | string): ActivePause | undefined {
    return this.#pausedBy(stored, ['engine', policyScope(name)]) ?? this.killSwitch;
  }

  /** Returns the pauses in the store, or the reason why they cannot be read. */
  async #storedPauses(ledger: Pick<Pauses, 'pauses'> = this.#deps.ledger): Promise<readonly Pause[] | string> {
    try {
      return await ledger.pauses();
    } catch (error) {
      return unreadable(error);
    }
  }

  /** Returns a pause. An unreadable store counts as one: it may contain one, and a run could not be recorded. */
  #pausedBy(stored: readonly Pause[] | string, scopes: readonly string[]): ActivePause | undefined {
    if (typeof stored === 'string') return { reason: stored, remedy: 'check the store' };
    const pauses = new Map([...this.#unwritten.values(), ...stored].map((pause) => [pause.scope, pause]));
    const found = scopes.map((one) => pauses.get(one)).find((pause) => pause !== undefined);
    if (found === undefined) return undefined;
    const option = found.scope === 'engine' ? '' : ` --policy ${found.scope.replace('policy/', '')}`;
    return { reason: found.reason, remedy: `\`opsd unpause${option} --reason TEXT\` lifts it`, since: found.at };
  }

  /**
   * Records the pause by the kill switch when it begins and when it ends. The record changes nothing: the file is
   * checked before every request.
   *
   * @param reason absent if the file does not exist
   */
  async noteKillSwitch(reason: string | undefined): Promise<void> {
    const { clock, ledger, shared } = this.#deps;
    if (this.#noted !== undefined && this.#noted.reason === reason) return;
    const record = { scope: killSwitchScope(shared?.name), at: clock.now(), by: 'kill switch' };
    if (reason === undefined) await ledger.unpause({ ...record, reason: 'the file does not exist' });
    else await ledger.pause({ ...record, reason });
    this.#noted = { reason };
  }

  /** Pause by the kill switch. */
  get killSwitch(): ActivePause | undefined {
    const remedy = 'remove the file to continue';
    try {
      const reason = this.#deps.killSwitch();
      return reason === undefined ? undefined : { reason, remedy };
    } catch (error) {
      return { reason: `the kill switch cannot be read: ${errorMessage(error)}`, remedy };
    }
  }
}

function unreadable(error: unknown): string {
  return `the store cannot be read: ${errorMessage(error)}`;
}

export function policyScope(policy: string): string {
  return `policy/${policy}`;
}

function leftOf({ limits: { probationRuns }, scope }: Policy, version: PolicyVersion | undefined): number {
  if (version === undefined || !isNarrower(version.scope, scope)) return probationRuns;
  return Math.max(0, probationRuns - version.auditRuns);
}

function sameScope(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
