/**
 * Active conditions that operators must know about: a hold, a halted group, a pending plan. Each is reported once when
 * it becomes active and once when it is resolved. In between it is a metric and a line on the page. Every hold has one.
 */
import type { Condition } from '../ledger/commands.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';

export class Conditions {
  readonly #active = new Map<string, Condition>();
  readonly #clock: Clock;
  readonly #events: EventBus;

  constructor(deps: { readonly clock: Clock; readonly events: EventBus }) {
    this.#clock = deps.clock;
    this.#events = deps.events;
  }

  /** Restores conditions that an earlier process reported and did not resolve. They are not reported again. */
  restore(told: readonly Condition[]): void {
    for (const condition of told) if (!this.#active.has(condition.key)) this.#active.set(condition.key, condition);
  }

  /** Activates a condition. Reports it again only if its guard or severity changed. */
  raise(condition: Omit<Condition, 'since'> & { readonly since?: number }): void {
    const before = this.#active.get(condition.key);
    const since =
      condition.since ?? (before?.guard === condition.guard ? before?.since : undefined) ?? this.#clock.now();
    const now = { ...condition, since };
    this.#active.set(condition.key, now);
    if (before?.guard === now.guard && before?.severity === now.severity) return;
    this.#tell(now, false);
  }

  resolve(key: string): void {
    const before = this.#active.get(key);
    if (before === undefined) return;
    this.#active.delete(key);
    this.#tell(before, true);
  }

  /** Resolves all conditions whose key has the prefix and is not in `keys`. */
  keepOnly(prefix: string, keys: ReadonlySet<string>): void {
    for (const key of this.#active.keys()) if (key.startsWith(prefix) && !keys.has(key)) this.resolve(key);
  }

  active(): readonly Condition[] {
    return [...this.#active.values()];
  }

  #tell({ since: _since, ...condition }: Condition, isResolved: boolean): void {
    this.#events.emit({ type: 'notification', ...condition, at: this.#clock.now(), isResolved });
  }
}
