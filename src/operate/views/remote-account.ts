/** An account of another replica, as its last view shows it. */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { Incident } from '#foundation/domain/incident.ts';
import type { Batch, CollectorName } from '#foundation/domain/observation.ts';
import { IncidentSet, type SharedMember } from '#observe/incidents/incident-set.ts';
import type { CollectorStatus } from '#observe/observations/board.ts';
import type { SharedFacts, MovingFacts, ReadView } from './account-view.ts';

export interface RemoteReading {
  readonly status: CollectorStatus;
  readonly batch?: Batch;
  /** Time of the batch on the monotonic clock of this process. */
  readonly freshAt?: number;
}

export class RemoteAccount {
  readonly lists: ReadView['lists'];
  readonly facts: SharedFacts;
  readonly moving: MovingFacts;
  readonly readings: ReadonlyMap<CollectorName, RemoteReading>;
  readonly incidents: IncidentSet;
  /** Undefined before the first reading of its owner. */
  readonly deadLetters: readonly DeadLetter[] | undefined;

  /**
   * @param writtenAt time of the view on the monotonic clock of this process
   * @param before the account as its view before showed it: a list that did not change is the same object
   */
  constructor(account: string, { facts, moving, lists }: ReadView, writtenAt: number, before?: RemoteAccount) {
    this.lists = lists;
    this.facts = facts;
    this.moving = moving;
    this.readings = new Map(
      facts.collectors.map(({ status, batch }): [CollectorName, RemoteReading] => {
        const { collector } = status;
        if (batch === undefined) return [collector, { status }];
        const { at, dropped, freshAt } = batch;
        const rows = (lists.get(collector) ?? []) as Batch['rows'];
        return [
          collector,
          {
            status,
            batch: { account, collector, at, dropped, rows },
            freshAt: writtenAt - (moving.monotonic - freshAt),
          },
        ];
      }),
    );
    const isSame = (['incidents', 'members'] as const).every((name) => before?.lists.get(name) === lists.get(name));
    this.incidents = isSame && before !== undefined ? before.incidents : incidentsOf(account, lists);
    this.deadLetters = facts.hasDeadLetters ? ((lists.get('deadLetters') ?? []) as readonly DeadLetter[]) : undefined;
  }
}

function incidentsOf(account: string, lists: ReadView['lists']): IncidentSet {
  const [incidents, members] = [lists.get('incidents') ?? [], lists.get('members') ?? []];
  return IncidentSet.of(account, incidents as readonly Incident[], members as readonly SharedMember[]);
}
