/** Named sets of endpoints. A message to a group becomes one message for each endpoint. */
import type { AccountJournal } from './journal.ts';
import { beyondPlan, type Limits } from './limits.ts';

export interface Endpoint {
  readonly url: string;
  readonly name?: string;
}

export interface UrlGroup {
  readonly name: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Epoch milliseconds. */
  readonly updatedAt: number;
  readonly endpoints: readonly Endpoint[];
}

export class UrlGroups {
  readonly #journal: AccountJournal | undefined;
  readonly #groups = new Map<string, UrlGroup>();

  constructor(journal?: AccountJournal) {
    this.#journal = journal;
  }

  /** Loads a group of an earlier process. */
  restore(group: UrlGroup): void {
    this.#groups.set(group.name, group);
  }

  get(name: string): UrlGroup | undefined {
    return this.#groups.get(name);
  }

  all(): readonly UrlGroup[] {
    return [...this.#groups.values()];
  }

  /**
   * Creates a missing group. An endpoint replaces the one of the same name, or else of the same URL.
   *
   * @throws {ApiError} 412 when the group or its endpoints would exceed the maximum; nothing changes then
   */
  upsert(
    name: string,
    endpoints: readonly Endpoint[],
    options: { readonly now: number; readonly limits: Limits },
  ): void {
    const { now, limits } = options;
    const group = this.#groups.get(name);
    const next = [...(group?.endpoints ?? [])];
    for (const endpoint of endpoints) {
      const byName = endpoint.name === undefined ? -1 : next.findIndex((known) => known.name === endpoint.name);
      const at = byName === -1 ? next.findIndex((known) => known.url === endpoint.url) : byName;
      if (at === -1) next.push(endpoint);
      else next[at] = { ...next[at], ...endpoint };
    }
    if (group === undefined && this.#groups.size >= limits.groups) {
      throw beyondPlan(limits, `the account has ${this.#groups.size} URL Groups`);
    }
    if (next.length > limits.endpointsPerGroup && next.length > (group?.endpoints.length ?? 0)) {
      throw beyondPlan(
        limits,
        `the URL Group ${name} would have ${next.length} endpoints, more than ${limits.endpointsPerGroup}`,
      );
    }
    const changed = { name, createdAt: group?.createdAt ?? now, updatedAt: now, endpoints: next };
    this.#groups.set(name, changed);
    // The place in the listing stays the same.
    this.#journal?.put('urlGroup', name, { ...changed, place: [...this.#groups.keys()].indexOf(name) });
  }
}
