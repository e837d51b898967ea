/**
 * Port for incidents. A commit is one transaction: incidents and their members become durable together or not at all. A
 * `kill -9` neither loses a member nor counts one twice.
 */
import type { DeadLetterQueue, Incident } from '#foundation/domain/incident.ts';

/** Dead letter that is a member of an incident and still in its queue. */
export interface IncidentMember {
  readonly account: string;
  readonly queue: DeadLetterQueue;
  readonly dlqId: string;
  readonly incident: string;
  /** Epoch milliseconds of its failure. */
  readonly at: number;
}

/** Change that may explain an incident. */
export interface IncidentMark {
  /** Epoch milliseconds. */
  readonly at: number;
  /** `configuration`: the daemon loaded another configuration. `version`: another version of the daemon started. */
  readonly kind: 'configuration' | 'version';
  /** Hash of the configuration, or the version. */
  readonly detail: string;
}

/** Changes of one account. */
export interface IncidentCommit {
  readonly account: string;
  /** New or changed incidents. */
  readonly changed: readonly Incident[];
  readonly added: readonly Omit<IncidentMember, 'account'>[];
  readonly removed: readonly Omit<IncidentMember, 'incident' | 'at' | 'account'>[];
  /** Incidents that became part of another one, with their members: old id to new id. */
  readonly merged: readonly (readonly [from: string, to: string])[];
  /** Ids that can be forgotten. */
  readonly forgotten: readonly string[];
}

export interface IncidentStore {
  /** Returns all incidents, with their acknowledgments. */
  load(): Promise<readonly Incident[]>;
  /** Reads all members. `take` is called for each. */
  readMembers(take: (member: IncidentMember) => void): Promise<void>;
  /** Rejects if the write fails; nothing is written then. */
  commit(commit: IncidentCommit): Promise<void>;
  /** Returns all marks, oldest first. */
  marks(): Promise<readonly IncidentMark[]>;
  /** Adds a mark, unless the newest mark of its kind says the same. Old marks are dropped. */
  mark(mark: IncidentMark): Promise<void>;
}
