/**
 * What stands at this moment that a person should know of: a hold, a halted group, a plan that waits. Each is told once
 * when it begins and once when it ends; in between it is a metric and a line on the page. No hold in silence.
 */
import type { Condition } from '../ledger/verbs.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';

export class Conditions {
  readonly #standing = new Map<string, Condition>();
  readonly #clock: Clock;
  readonly #events: EventBus;

  constructor(deps: { readonly clock: Clock; readonly events: EventBus }) {
    this.#clock = deps.clock;
    this.#events = deps.events;
  }

  /** What an earlier process told and did not end: it stands on, and is not told again. */
  takeUp(told: readonly Condition[]): void {
    for (const condition of told) if (!this.#standing.has(condition.key)) this.#standing.set(condition.key, condition);
  }

  /** Begins it, or tells anew when another guard or severity has taken its place. */
  stands(condition: Omit<Condition, 'since'> & { readonly since?: number }): void {
    const before = this.#standing.get(condition.key);
    const since =
      condition.since ?? (before?.guard === condition.guard ? before?.since : undefined) ?? this.#clock.now();
    const now = { ...condition, since };
    this.#standing.set(condition.key, now);
    if (before?.guard === now.guard && before?.severity === now.severity) return;
    this.#tell(now, false);
  }

  ended(key: string): void {
    const before = this.#standing.get(key);
    if (before === undefined) return;
    this.#standing.delete(key);
    this.#tell(before, true);
  }

  /** Ends all whose key begins so and is not among those that still stand. */
  keepOnly(prefix: string, keys: ReadonlySet<string>): void {
    for (const key of this.#standing.keys()) if (key.startsWith(prefix) && !keys.has(key)) this.ended(key);
  }

  standing(): readonly Condition[] {
    return [...this.#standing.values()];
  }

  #tell({ since: _since, ...condition }: Condition, isResolved: boolean): void {
    this.#events.emit({ type: 'notice', ...condition, at: this.#clock.now(), isResolved });
  }
}
