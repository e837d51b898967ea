/**
 * Groups dead letters and failing deliveries into incidents, incrementally. The groups do not depend on the order of the
 * failures, or on the borders between readings. Each change is committed to the store before it is visible. Changes are
 * decided and committed one after the other, so that no change is decided on an outdated state.
 *
 * A reading is taken in parts, so that other work can run in between. After a failed commit, the state is loaded again
 * from the store, and the next reading continues.
 */
import {
  isSnoozed,
  membersNow,
  splitAtGaps,
  stateOf,
  touches,
  withDeliveries,
  withCampaigns,
  withMembers,
  type Acknowledgment,
  type DeadLetterQueue,
  type FailingDeliveries,
  type Incident,
  type IncidentKind,
  type FailureSpan,
} from '#foundation/domain/incident.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { isLeaseLost } from '#foundation/events/store-failure.ts';
import { OneByOne } from '#foundation/platform/one-by-one.ts';
import { Change, opened } from './incident-change.ts';
import { IncidentSet, kindKey } from './incident-set.ts';
import type { IncidentMark, IncidentStore } from './incident-store.ts';

/** Maximum number of unresolved incidents. Further failures are members of the overflow incident of their account. */
const MOST_UNRESOLVED = 1_000;
/** Maximum number of resolved incidents, and their retention. */
const MOST_RESOLVED = 1_000;
const KEEP_RESOLVED_MS = 30 * 86_400_000;
/** Maximum time between the last failure of an incident and a refailed run that returns to it. */
const REFAILED_MS = 24 * 3_600_000;
/** Maximum number of members per commit. A longer transaction would block the event loop. */
const MEMBERS_AT_ONCE = 2_000;
/** Maximum number of rows that are compared, or whose kind is determined, without a break. */
const ROWS_AT_ONCE = 10_000;
const KINDS_AT_ONCE = 500;

/** Complete reading of the dead letters of one queue of one account. */
export interface DeadLetterReading<Row> {
  readonly account: string;
  readonly queue: DeadLetterQueue;
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  /** Epoch milliseconds of the failure. */
  readonly atOf: (row: Row) => number;
  readonly kindOf: (row: Row) => Omit<IncidentKind, 'account'>;
  /** Returns true for a run of this daemon itself. It is no member. */
  readonly isOwn: (row: Row) => boolean;
  /** Returns true for a run that this daemon resumed and that failed again. */
  readonly isRefailed: (row: Row) => boolean;
  /** An absent member that failed at or after this time has left the queue. Infinity: absence proves nothing. */
  readonly completeFrom: number;
  readonly retentionMs?: number;
  /** Epoch milliseconds of the reading. */
  readonly at: number;
}

/** Destination that fails now. */
export interface FailingDestination extends IncidentKind {
  readonly deliveries: FailingDeliveries;
}

/** Epoch milliseconds since when a destination delivers again. */
export type Recovery = number | 'healthy' | undefined;

interface Failure {
  readonly dlqId: string;
  readonly at: number;
}

/** Rows of a reading that are no members, and members that have left. */
interface Found<Row> {
  readonly fresh: Row[];
  readonly refailed: Row[];
  readonly again: Failure[];
}

export class IncidentBook {
  readonly #store: IncidentStore;
  readonly #mostUnresolved: number;
  #set = new IncidentSet();
  #marks: readonly IncidentMark[] = [];
  #reading = 0;
  #mustLoad = true;
  readonly #changes = new OneByOne();

  private constructor(store: IncidentStore, mostUnresolved: number) {
    this.#store = store;
    this.#mostUnresolved = mostUnresolved;
  }

  static async open(store: IncidentStore, mostUnresolved = MOST_UNRESOLVED): Promise<IncidentBook> {
    const book = new IncidentBook(store, mostUnresolved);
    await book.#load();
    return book;
  }

  /** All incidents, and lookups in them. It changes only with the next commit. */
  get present(): Pick<IncidentSet, 'all' | 'get' | 'membersOf' | 'oldest' | 'share'> {
    return this.#set;
  }

  /** Changes that may explain incidents, oldest first. */
  get marks(): readonly IncidentMark[] {
    return this.#marks;
  }

  /** Adds a mark, unless the newest mark of its kind says the same. */
  async mark(mark: IncidentMark): Promise<void> {
    await this.#store.mark(mark);
    this.#marks = await this.#store.marks();
  }

  /** Takes a reading in parts, each with at most one commit. */
  async *take<Row>(reading: DeadLetterReading<Row>): AsyncGenerator<void, void, undefined> {
    if (this.#mustLoad) await this.#change(() => undefined);
    this.#reading += 1;
    const set = this.#set;
    const found: Found<Row> = { fresh: [], refailed: [], again: [] };
    for (let from = 0; from < reading.rows.length; from += ROWS_AT_ONCE) {
      if (from > 0) yield;
      this.#compare(reading, from, found);
    }
    // The state was loaded again in between, so absence proves nothing. The next reading continues.
    if (this.#set !== set) return;
    const gone = [...found.again, ...this.#absent(reading)];
    for (let from = 0; from < gone.length; from += MEMBERS_AT_ONCE) {
      await this.#leave(reading, gone.slice(from, from + MEMBERS_AT_ONCE));
      yield;
    }
    yield* this.#enter(reading, found.fresh, false);
    yield* this.#enter(reading, found.refailed, true);
  }

  /** Compares rows with the members. Most are members without a change. */
  #compare<Row>(reading: DeadLetterReading<Row>, from: number, { fresh, refailed, again }: Found<Row>): void {
    const { account, queue, rows, idOf, atOf, isOwn, isRefailed } = reading;
    const known = this.#set.membersOf(account, queue);
    const end = Math.min(from + ROWS_AT_ONCE, rows.length);
    for (let index = from; index < end; index++) {
      const row = rows[index]!;
      const dlqId = idOf(row);
      const member = known.get(dlqId);
      if (member !== undefined) {
        member.seen = this.#reading;
        if (atOf(row) <= member.at) continue;
        // The id now belongs to a later failure.
        again.push({ dlqId, at: member.at });
      }
      if (!isOwn(row)) (isRefailed(row) ? refailed : fresh).push(row);
    }
  }

  #absent<Row>({ account, queue, completeFrom }: DeadLetterReading<Row>): Failure[] {
    const gone: Failure[] = [];
    for (const [dlqId, { at, seen }] of this.#set.membersOf(account, queue)) {
      if (seen !== this.#reading && at >= completeFrom) gone.push({ dlqId, at });
    }
    return gone;
  }

  #leave<Row>({ account, queue, retentionMs, at }: DeadLetterReading<Row>, gone: readonly Failure[]): Promise<void> {
    return this.#change((change) => {
      const members = this.#set.membersOf(account, queue);
      for (const failure of gone) {
        const { dlqId } = failure;
        const member = members.get(dlqId);
        // The state was loaded again in between.
        if (member === undefined) continue;
        const incident = change.get(member.incident)!;
        const isExpired = retentionMs !== undefined && failure.at + retentionMs <= at;
        change.put({
          ...incident,
          now: { ...incident.now, [queue]: incident.now[queue] - 1 },
          ...(isExpired && { expired: incident.expired + 1 }),
        });
        change.removed.push({ account, queue, dlqId });
      }
    });
  }

  /** Adds new members. The largest kinds come first, so that they are the last to overflow. */
  async *#enter<Row>(reading: DeadLetterReading<Row>, rows: readonly Row[], isRefailed: boolean): AsyncGenerator<void> {
    const { account, queue, idOf, atOf, kindOf, at } = reading;
    const kinds = new Map<string, { readonly kind: IncidentKind; readonly failures: Failure[] }>();
    for (const [index, row] of rows.entries()) {
      if (index % KINDS_AT_ONCE === KINDS_AT_ONCE - 1) yield;
      const kind = { account, ...kindOf(row) };
      const { failures } = getOrAdd(kinds, kindKey(kind), () => ({ kind, failures: [] }));
      failures.push({ dlqId: idOf(row), at: atOf(row) });
    }
    const ordered = [...kinds].toSorted(([a, one], [b, other]) => {
      return other.failures.length - one.failures.length || (a < b ? -1 : 1);
    });
    const parts = ordered.flatMap(([, { kind, failures }]) => partsOf(failures).map((members) => ({ kind, members })));
    for (let next = 0; next < parts.length;) {
      await this.#change((change) => {
        while (next < parts.length && change.added.length < MEMBERS_AT_ONCE) {
          const { kind, members } = parts[next++]!;
          const span = { firstAt: members[0]!.at, lastAt: members.at(-1)!.at };
          const incident = this.#incidentFor(change, kind, span, { isRefailed, at });
          const times = members.map((member) => member.at);
          change.put(withMembers(incident, queue, times));
          for (const { dlqId, at: failedAt } of members) {
            change.added.push({ account, queue, dlqId, incident: incident.id, at: failedAt });
          }
        }
      });
      yield;
    }
  }

  /** Returns the incident of failures: a known one, several that become one, a new one, or the overflow. */
  #incidentFor(
    change: Change,
    kind: IncidentKind,
    span: FailureSpan,
    { isRefailed, at }: { readonly isRefailed: boolean; readonly at: number },
  ): Incident {
    const same = change.ofKind(kind).toSorted(byOpening);
    const near = same.filter((incident) => touches(incident, span));
    const [first, ...others] = near;
    if (first !== undefined) {
      return others.reduce((incident, other) => change.merge(incident, other), first);
    }
    const origin = isRefailed
      ? same.findLast(({ firstAt, lastAt }) => firstAt <= span.lastAt && span.firstAt - lastAt < REFAILED_MS)
      : undefined;
    if (origin !== undefined) return origin;
    if (change.unresolved < this.#mostUnresolved) return opened(change, kind, span, at);
    const overflow: IncidentKind = {
      account: kind.account,
      kind: 'overflow',
      place: 'other',
      reason: 'more kinds of failures than the daemon separates',
      cause: 'unknown',
    };
    return change.ofKind(overflow)[0] ?? opened(change, overflow, span, at);
  }

  /**
   * Takes the destinations that fail now. `recoveryOf` returns the recovery of one that is not among them: the time since
   * when it delivers again, `healthy`, or undefined if unknown, which changes nothing.
   */
  takeDestinations(
    account: string,
    failing: readonly FailingDestination[],
    { at, recoveryOf }: { readonly at: number; readonly recoveryOf: (host: string) => Recovery },
  ): Promise<void> {
    return this.#change((change) => {
      const active = [...this.#set.all()].filter((incident) => incident.account === account && isWatched(incident));
      for (const { deliveries: read, ...kind } of failing) {
        const span = { firstAt: read.since, lastAt: read.lastAt };
        // The most frequent reason can change during an outage.
        const known = active.find((incident) => incident.place === kind.place && touches(incident, span));
        const incident = known ?? this.#incidentFor(change, kind, span, { isRefailed: false, at });
        const present = change.get(incident.id) ?? incident;
        const deliveries = withDeliveries(present.deliveries, read);
        if (isSameDeliveries(present.deliveries, deliveries)) continue;
        change.put({
          ...present,
          firstAt: Math.min(present.firstAt, span.firstAt),
          lastAt: Math.max(present.lastAt, span.lastAt),
          deliveries,
        });
      }
      const hosts = new Set(failing.map(({ place }) => place));
      for (const incident of active) {
        const recovery = hosts.has(incident.place) ? undefined : recoveryOf(incident.place);
        if (recovery === undefined) continue;
        const { recoveringSince: before, ...deliveries } = incident.deliveries!;
        const isSame = recovery === before && !deliveries.isFailing;
        if (isSame) continue;
        const recovering = recovery === 'healthy' ? {} : { recoveringSince: before ?? recovery };
        change.put({ ...incident, deliveries: { ...deliveries, isFailing: false, ...recovering } });
      }
    });
  }

  /**
   * Determines the state of each incident, and forgets old ones.
   *
   * @param verifying campaigns that verify resumed runs, by incident; an empty list if the runs have no campaign
   * @param isDeployed returns true if an incident had a deploy since its snooze
   */
  review(
    at: number,
    verifying: ReadonlyMap<string, readonly string[]>,
    isDeployed: (incident: Incident) => boolean = () => false,
  ): Promise<void> {
    return this.#change((change) => {
      for (const before of this.#set.all()) {
        const isOver = isSnoozed(before) && (at >= (before.acknowledged?.until ?? Infinity) || isDeployed(before));
        const incident = isOver ? woken(before, at) : before;
        const campaigns = withCampaigns(incident.campaigns, verifying.get(incident.id) ?? []);
        const state = stateOf(incident, verifying.has(incident.id), at);
        if (state === incident.state && campaigns === incident.campaigns && !isOver) continue;
        const { resolvedAt: _resolved, ...rest } = incident;
        const resolvedAt = state === 'resolved' ? (incident.resolvedAt ?? at) : undefined;
        change.put({ ...rest, state, campaigns, ...(resolvedAt !== undefined && { resolvedAt }) });
      }
      const resolved = [...this.#set.all()]
        .map(({ id }) => change.get(id)!)
        .filter((incident) => incident.state === 'resolved' && membersNow(incident) === 0)
        .toSorted((a, b) => b.resolvedAt! - a.resolvedAt!);
      for (const [index, incident] of resolved.entries()) {
        if (index >= MOST_RESOLVED || at - incident.resolvedAt! > KEEP_RESOLVED_MS) change.forget(incident);
      }
    });
  }

  /** Records that a condition reports these incidents. */
  report(ids: readonly string[], key: `incident/${string}`): Promise<void> {
    return this.#change((change) => {
      for (const id of ids) change.put({ ...change.get(id)!, reportedAs: key });
    });
  }

  /** Applies an acknowledgment or snooze that the ledger has recorded. */
  async acknowledge(id: string, acknowledged: Acknowledgment, at: number): Promise<Incident> {
    await this.#change((change) => {
      const incident = { ...change.get(id)!, acknowledged };
      const state = incident.state === 'recovering' ? incident.state : stateOf(incident, false, at);
      change.put({ ...incident, state, ...(state === 'resolved' && { resolvedAt: incident.resolvedAt ?? at }) });
    });
    return this.#set.get(id)!;
  }

  /** Decides on a change and commits it, after the changes before it. */
  #change(decide: (change: Change) => void): Promise<void> {
    return this.#changes.run(async () => {
      if (this.#mustLoad) await this.#load();
      const change = new Change(this.#set);
      decide(change);
      await this.#commit(change);
    });
  }

  /** Commits the changes of each account, also after a failed commit of another one. */
  async #commit(change: Change): Promise<void> {
    const failures: unknown[] = [];
    for (const commit of change.commits()) {
      try {
        await this.#store.commit(commit);
        this.#set.apply(commit, this.#reading);
      } catch (error) {
        this.#mustLoad = true;
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures.find((error) => !isLeaseLost(error)) ?? failures[0];
  }

  async #load(): Promise<void> {
    this.#set = await IncidentSet.load(this.#store);
    this.#marks = await this.#store.marks();
    this.#mustLoad = false;
  }
}

/** Returns a snoozed incident without its snooze. It is reported as a new one, and limited with those that wake with it. */
function woken({ reportedAs: _key, acknowledged, ...incident }: Incident, at: number): Incident {
  return { ...incident, acknowledged: { ...acknowledged!, endedAt: at } };
}

/** Returns true if the incident follows the deliveries of its destination. */
function isWatched({ deliveries }: Incident): boolean {
  return deliveries !== undefined && (deliveries.isFailing || deliveries.recoveringSince !== undefined);
}

/** Divides failures at gaps, and into parts of one commit. */
function partsOf(failures: readonly Failure[]): Failure[][] {
  return splitAtGaps(failures).flatMap((part) =>
    Array.from({ length: Math.ceil(part.length / MEMBERS_AT_ONCE) }, (_, index) =>
      part.slice(index * MEMBERS_AT_ONCE, (index + 1) * MEMBERS_AT_ONCE),
    ),
  );
}

function byOpening(a: Incident, b: Incident): number {
  return a.openedAt - b.openedAt || a.firstAt - b.firstAt || (a.id < b.id ? -1 : 1);
}

function isSameDeliveries(a: FailingDeliveries | undefined, b: FailingDeliveries): boolean {
  return a !== undefined && a.isFailing === b.isFailing && a.failed === b.failed && a.lastAt === b.lastAt;
}
