/** Lookups in the incidents of the configured accounts. */
import type { DeadLetterQueue, Incident } from '#foundation/domain/incident.ts';
import type { IncidentSet } from './incident-set.ts';

interface IncidentLookupDeps {
  readonly accounts: readonly { readonly name: string; readonly dlqRetentionMs?: number }[];
  /** Set of an account, which several accounts may share; undefined if nothing is known. Only these use the set. */
  setOf(account: string): Pick<IncidentSet, 'all' | 'get' | 'membersOf' | 'oldest'> | undefined;
}

export class IncidentLookup {
  readonly #deps: IncidentLookupDeps;

  constructor(deps: IncidentLookupDeps) {
    this.#deps = deps;
  }

  /** Incidents of the configured accounts. Those of a removed account stay in the store. */
  all(): readonly Incident[] {
    const accounts = new Set(this.#deps.accounts.map(({ name }) => name));
    return this.#sets().flatMap((set) =>
      [...set.all()].filter(({ account }) => accounts.has(account) && this.#deps.setOf(account) === set),
    );
  }

  /** Finds an incident by its id, a former id, or a prefix of at least four characters that only one id has. */
  find(id: string): Incident | undefined {
    for (const set of this.#sets()) {
      const known = set.get(id);
      if (known !== undefined && this.#deps.setOf(known.account) === set) return known;
    }
    if (id.length < 4) return undefined;
    const found = this.all().filter((incident) => incident.id.startsWith(id));
    return found.length === 1 ? found[0] : undefined;
  }

  /** Epoch milliseconds when the first member of an incident expires; undefined if the retention is unknown. */
  firstExpiresAt({ id, account }: Pick<Incident, 'id' | 'account'>): number | undefined {
    const retention = this.#deps.accounts.find(({ name }) => name === account)?.dlqRetentionMs;
    const oldest = this.#deps.setOf(account)?.oldest().get(id);
    return retention === undefined || oldest === undefined ? undefined : oldest + retention;
  }

  /** Incident of a dead letter. Undefined if it is not grouped yet. */
  incidentOf(account: string, queue: DeadLetterQueue, dlqId: string): string | undefined {
    return this.#deps.setOf(account)?.membersOf(account, queue).get(dlqId)?.incident;
  }

  /** Ids of the dead letters that are members now. */
  memberIds({ id, account }: Pick<Incident, 'id' | 'account'>, queue: DeadLetterQueue): readonly string[] {
    const members = this.#deps.setOf(account)?.membersOf(account, queue) ?? new Map<string, { incident: string }>();
    return members
      .entries()
      .filter(([, { incident }]) => incident === id)
      .map(([dlqId]) => dlqId)
      .toArray();
  }

  #sets() {
    return [...new Set(this.#deps.accounts.flatMap(({ name }) => this.#deps.setOf(name) ?? []))];
  }
}
