/** All incidents and their members in memory, with the lookups that grouping and views need. */
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import type { DeadLetterQueue, Incident, IncidentKind } from '#foundation/domain/incident.ts';
import type { IncidentCommit, IncidentStore } from './incident-store.ts';

/** Member as the grouping needs it. */
export interface KnownMember {
  readonly incident: string;
  readonly at: number;
  /** Number of the last reading that had it. */
  seen: number;
}

/** Member of an account's incident as another replica gets it. */
export type SharedMember = readonly [queue: DeadLetterQueue, dlqId: string, incident: string, at: number];

/** Incidents of one account for other replicas. */
export interface SharedIncidents {
  /** Another object after each change. */
  readonly revision: object;
  incidents(): readonly Incident[];
  members(): readonly SharedMember[];
}

export class IncidentSet {
  readonly #incidents = new Map<string, Incident>();
  readonly #byKind = new Map<string, Set<string>>();
  readonly #aliases = new Map<string, string>();
  /** By account and queue. */
  readonly #members = new Map<string, Readonly<Record<DeadLetterQueue, Map<string, KnownMember>>>>();
  readonly #revisions = new Map<string, object>();
  #oldest: ReadonlyMap<string, number> | undefined;

  /** Returns the incidents of an account that another replica shared. */
  static of(account: string, incidents: readonly Incident[], members: readonly SharedMember[]): IncidentSet {
    const set = new IncidentSet();
    const added = members.map(([queue, dlqId, incident, at]) => ({ queue, dlqId, incident, at }));
    set.apply({ account, changed: incidents, added, removed: [], merged: [], forgotten: [] }, 0);
    return set;
  }

  static async load(store: IncidentStore): Promise<IncidentSet> {
    const set = new IncidentSet();
    for (const incident of await store.load()) set.#put(incident);
    // All members of an incident share one string.
    const names = new Map<string, string>();
    await store.readMembers(({ account, queue, dlqId, incident, at }) => {
      const id = getOrAdd(names, incident, () => incident);
      set.membersOf(account, queue).set(dlqId, { incident: id, at, seen: 0 });
    });
    return set;
  }

  /** Applies a commit that is durable. */
  apply({ account, changed, added, removed, merged, forgotten }: IncidentCommit, seen: number): void {
    for (const [from, to] of merged) {
      for (const members of this.#all()) {
        for (const [dlqId, member] of members) {
          if (member.incident === from) members.set(dlqId, { ...member, incident: to });
        }
      }
      this.#remove(from);
    }
    for (const incident of changed) this.#put(incident);
    for (const { queue, dlqId } of removed) this.membersOf(account, queue).delete(dlqId);
    for (const { queue, dlqId, incident, at } of added) {
      this.membersOf(account, queue).set(dlqId, { incident, at, seen });
    }
    for (const id of forgotten) this.#remove(id);
    this.#oldest = undefined;
    this.#revisions.delete(account);
  }

  share(account: string): SharedIncidents {
    const queues = ['workflow', 'message'] as const;
    return {
      revision: getOrAdd(this.#revisions, account, () => ({})),
      incidents: () => [...this.#incidents.values()].filter((incident) => incident.account === account),
      members: () =>
        queues.flatMap((queue) =>
          [...this.membersOf(account, queue)].map(([dlqId, { incident, at }]) => [queue, dlqId, incident, at] as const),
        ),
    };
  }

  all(): IterableIterator<Incident> {
    return this.#incidents.values();
  }

  /** Finds an incident by its id or a former id. */
  get(id: string): Incident | undefined {
    return this.#incidents.get(id) ?? this.#incidents.get(this.#aliases.get(id) ?? '');
  }

  ofKind(kind: IncidentKind): Incident[] {
    return [...(this.#byKind.get(kindKey(kind)) ?? [])].map((id) => this.#incidents.get(id)!);
  }

  membersOf(account: string, queue: DeadLetterQueue): Map<string, KnownMember> {
    return getOrAdd(this.#members, account, () => ({
      workflow: new Map<string, KnownMember>(),
      message: new Map<string, KnownMember>(),
    }))[queue];
  }

  /** Failure time of the oldest present member of each incident. */
  oldest(): ReadonlyMap<string, number> {
    if (this.#oldest !== undefined) return this.#oldest;
    const oldest = new Map<string, number>();
    for (const members of this.#all()) {
      for (const { incident, at } of members.values()) {
        if (!(oldest.get(incident)! <= at)) oldest.set(incident, at);
      }
    }
    return (this.#oldest = oldest);
  }

  #all(): Map<string, KnownMember>[] {
    return [...this.#members.values()].flatMap(({ workflow, message }) => [workflow, message]);
  }

  #put(incident: Incident): void {
    this.#incidents.set(incident.id, incident);
    getOrAdd(this.#byKind, kindKey(incident), () => new Set<string>()).add(incident.id);
    for (const alias of incident.aliases) this.#aliases.set(alias, incident.id);
  }

  #remove(id: string): void {
    const incident = this.#incidents.get(id);
    if (incident === undefined) return;
    this.#incidents.delete(id);
    for (const alias of incident.aliases) this.#aliases.delete(alias);
    const same = this.#byKind.get(kindKey(incident));
    same?.delete(id);
    if (same?.size === 0) this.#byKind.delete(kindKey(incident));
  }
}

export function kindKey({ account, kind, place, reason }: IncidentKind): string {
  return `${account}\0${kind}\0${place}\0${reason}`;
}
