/** Changes of one commit, over the present incidents. */
import { hash } from 'node:crypto';
import { merged, type Incident, type IncidentKind, type FailureSpan } from '#foundation/domain/incident.ts';
import { kindKey, type IncidentSet } from './incident-set.ts';
import type { IncidentCommit, IncidentMember } from './incident-store.ts';

const ID_LENGTH = 10;

export class Change {
  readonly added: IncidentMember[] = [];
  readonly removed: Omit<IncidentMember, 'incident' | 'at'>[] = [];
  readonly #set: IncidentSet;
  readonly #changed = new Map<string, Incident>();
  readonly #merged: { readonly account: string; readonly from: string; readonly to: string }[] = [];
  readonly #forgotten: Incident[] = [];

  constructor(set: IncidentSet) {
    this.#set = set;
  }

  get(id: string): Incident | undefined {
    return this.#changed.get(id) ?? this.#set.get(id);
  }

  put(incident: Incident): void {
    this.#changed.set(incident.id, incident);
  }

  ofKind(kind: IncidentKind): Incident[] {
    const key = kindKey(kind);
    const gone = new Set(this.#merged.map(({ from }) => from));
    const ids = new Set(this.#set.ofKind(kind).map(({ id }) => id));
    for (const incident of this.#changed.values()) if (kindKey(incident) === key) ids.add(incident.id);
    return [...ids].filter((id) => !gone.has(id)).map((id) => this.get(id)!);
  }

  /** Number of incidents that are not resolved. */
  get unresolved(): number {
    let count = 0;
    for (const { id } of this.#set.all()) if (this.get(id)!.state !== 'resolved') count += 1;
    for (const { id, state } of this.#changed.values()) {
      if (state !== 'resolved' && this.#set.get(id) === undefined) count += 1;
    }
    return count;
  }

  /** Makes two incidents one. */
  merge(incident: Incident, other: Incident): Incident {
    const one = merged(incident, other);
    this.put(one);
    this.#changed.delete(other.id);
    this.#merged.push({ account: one.account, from: other.id, to: one.id });
    for (const [index, member] of this.added.entries()) {
      if (member.incident === other.id) this.added[index] = { ...member, incident: one.id };
    }
    return one;
  }

  forget(incident: Incident): void {
    this.#changed.delete(incident.id);
    this.#forgotten.push(incident);
  }

  /** Yields a commit for each account that has changes. */
  *commits(): Generator<IncidentCommit> {
    const changed = [...this.#changed.values()];
    const all = [changed, this.added, this.removed, this.#merged, this.#forgotten];
    for (const account of new Set(all.flat().map((one) => one.account))) {
      const isOf = (one: { readonly account: string }): boolean => one.account === account;
      yield {
        account,
        changed: changed.filter(isOf),
        added: this.added.filter(isOf),
        removed: this.removed.filter(isOf),
        merged: this.#merged.filter(isOf).map(({ from, to }) => [from, to]),
        forgotten: this.#forgotten.filter(isOf).map(({ id }) => id),
      };
    }
  }
}

/** Returns a new incident with an id that no other incident has. */
export function opened(change: Change, kind: IncidentKind, span: FailureSpan, at: number): Incident {
  let id: string;
  let text = `${kindKey(kind)}\0${span.firstAt}`;
  do id = hash('sha256', (text += '\0')).slice(0, ID_LENGTH);
  while (change.get(id) !== undefined);
  return {
    ...kind,
    id,
    state: 'open',
    ...span,
    openedAt: at,
    now: { workflow: 0, message: 0 },
    ever: 0,
    expired: 0,
    campaigns: [],
    aliases: [],
  };
}
