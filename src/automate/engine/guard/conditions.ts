/**
 * Active conditions that operators must know about: a hold, a halted group, a pending plan. Each is reported once when
 * it becomes active and once when it is resolved. In between it is a metric and a line on the page. Every hold has one.
 */
import type { Condition } from '../../ledger/commands.ts';
import type { ConditionKey } from '#foundation/domain/notification.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';

interface ConditionsDeps extends Pick<EngineDeps, 'clock'> {
  readonly events: Pick<EventBus, 'emit'>;
  readonly shared?: Pick<NonNullable<EngineDeps['shared']>, 'hasLost'>;
}

export class Conditions {
  readonly #active = new Map<string, Condition>();
  readonly #deps: ConditionsDeps;

  constructor(deps: ConditionsDeps) {
    this.#deps = deps;
  }

  /** Restores conditions that an earlier process reported and did not resolve. They are not reported again. */
  restore(told: readonly Condition[]): void {
    for (const condition of told) if (!this.#active.has(condition.key)) this.#active.set(condition.key, condition);
  }

  /** Activates a condition. Reports it again only if its guard or severity changed. */
  raise(condition: Omit<Condition, 'key' | 'since'> & { readonly key: ConditionKey; readonly since?: number }): void {
    if (this.#isOfOther(condition)) return;
    const before = this.#active.get(condition.key);
    const since =
      condition.since ?? (before?.guard === condition.guard ? before?.since : undefined) ?? this.#deps.clock.now();
    const now = { ...condition, since };
    this.#active.set(condition.key, now);
    if (before?.guard === now.guard && before?.severity === now.severity) return;
    this.#tell(now, false);
  }

  /** @param isSnoozed true if no receiver is to be notified; a condition that is raised again is reported again */
  resolve(key: string, isSnoozed = false): void {
    const before = this.#active.get(key);
    if (before === undefined || this.#isOfOther(before)) return;
    this.#active.delete(key);
    this.#tell(before, true, isSnoozed);
  }

  /** Resolves all conditions whose key has the prefix and is not in `keys`. */
  keepOnly(prefix: string, keys: ReadonlySet<string>): void {
    for (const key of this.#active.keys()) if (key.startsWith(prefix) && !keys.has(key)) this.resolve(key);
  }

  active(): readonly Condition[] {
    return [...this.#active.values()];
  }

  /** Returns true if the owner of the account, or the leader, is another replica now. It continues the condition. */
  #isOfOther({ key, account }: Pick<Condition, 'key' | 'account'>): boolean {
    const isOfProcess = account === undefined && !key.includes('/');
    return !isOfProcess && this.#deps.shared?.hasLost(account) === true;
  }

  #tell({ since: _since, denial: _denial, ...condition }: Condition, isResolved: boolean, isSnoozed = false): void {
    const at = this.#deps.clock.now();
    const snoozed = isSnoozed ? { isSnoozed } : {};
    this.#deps.events.emit({ type: 'notification', ...condition, at, isResolved, ...snoozed });
  }
}
