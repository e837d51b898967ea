/** What the campaigns of an account show of the hosts that their entries go to. */
import type { Campaign } from '#foundation/domain/campaign.ts';
import type { OtherGroups } from '../guardrails/guard.ts';
import { hostOfGroup } from './group-facts.ts';

export class SameDestination {
  readonly #byHost: ReadonlyMap<string | undefined, readonly Campaign[]>;
  readonly #now: number;
  /** Groups that go in this run, by host. */
  readonly #going = new Map<string, Set<string>>();

  /** @param campaigns of all policies of the account */
  constructor(campaigns: readonly Campaign[], now: number) {
    this.#byHost = Map.groupBy(campaigns, ({ group }) => hostOfGroup(group));
    this.#now = now;
  }

  others(group: string): OtherGroups {
    const host = hostOfGroup(group);
    const others = host === undefined ? [] : (this.#byHost.get(host) ?? []).filter((other) => other.group !== group);
    const underWay = new Set(this.#going.get(host ?? ''));
    let halted = 0;
    let verifiedAt: number | undefined;
    for (const { state, until = 0, group: other, verifiedAt: at } of others) {
      if (state === 'settling') underWay.add(other);
      if (state === 'halted' && until > this.#now) halted++;
      if (at !== undefined) verifiedAt = Math.max(verifiedAt ?? at, at);
    }
    underWay.delete(group);
    return { underWay: underWay.size, halted, ...(verifiedAt !== undefined && { verifiedAt }) };
  }

  /** A group sends entries in this run. */
  goes(group: string): void {
    const host = hostOfGroup(group);
    if (host === undefined) return;
    this.#going.set(host, (this.#going.get(host) ?? new Set()).add(group));
  }
}
