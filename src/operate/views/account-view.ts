/** View of an account by its owner, for the pages and the API of the other replicas. */
import type { CanaryState } from '#foundation/domain/canary.ts';
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { Incident } from '#foundation/domain/incident.ts';
import type { CollectorName } from '#foundation/domain/observation.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { Condition } from '#automate/ledger/commands.ts';
import type { SharedMember } from '#observe/incidents/incident-set.ts';
import type { CollectorStatus } from '#observe/observations/board.ts';
import type { SharedAttempts } from '#observe/observations/recent-attempts.ts';
import type { ApiUsage, LabelView } from '../contract/status.ts';

/** Facts of an account that are short. */
export interface SharedFacts {
  readonly collectors: readonly SharedCollector[];
  /** End of the counted log; absent before the first run. */
  readonly watermark?: number;
  /** Absent if unknown. */
  readonly attempts?: SharedAttempts;
  readonly policies: readonly PolicyStatus[];
  readonly conditions: readonly Condition[];
  readonly usage: readonly ApiUsage[];
  readonly labels: readonly LabelView[];
  readonly canaries: readonly CanaryState[];
  /** False before the dead letters of messages are read. */
  readonly hasDeadLetters: boolean;
}

export interface SharedCollector {
  readonly status: CollectorStatus;
  /** Last complete reading, without its rows. `freshAt` is on the monotonic clock of the owner. */
  readonly batch?: { readonly at: number; readonly dropped: number; readonly freshAt: number };
}

/** Facts that change all the time. They alone are no reason to write a view. */
export interface MovingFacts {
  /** Monotonic time of the owner when it wrote the view. */
  readonly monotonic: number;
  /** Rate at which the log is counted; absent if unknown. */
  readonly catchUpRatio?: number;
}

/** Long lists, by name: the rows of each reading, the incidents with their members, and the dead letters of messages. */
export type ListName = CollectorName | 'incidents' | 'members' | 'deadLetters';

/** Long list of a view. */
export interface SharedList {
  /** The same object as long as the rows are the same. */
  readonly revision: object;
  readonly rows: () => readonly unknown[];
}

/** View of an account as its owner has it. */
export interface SharedAccount {
  readonly facts: SharedFacts;
  readonly moving: MovingFacts;
  readonly lists: ReadonlyMap<ListName, SharedList>;
}

/** Document of a view: its facts, and the ids of the slices of each list. */
export interface ViewDocument {
  readonly facts: SharedFacts;
  readonly moving: MovingFacts;
  readonly lists: Readonly<Partial<Record<ListName, readonly string[]>>>;
}

/** View of an account as another replica has it. */
export interface ReadView {
  readonly facts: SharedFacts;
  readonly moving: MovingFacts;
  readonly lists: ReadonlyMap<ListName, readonly unknown[]>;
}

type IdOf = (row: never) => string;

const IDS: Readonly<Partial<Record<ListName, IdOf>>> = {
  workflowDlq: ({ dlqId }: { readonly dlqId: string }) => dlqId,
  deadLetters: ({ dlqId }: DeadLetter) => dlqId,
  incidents: ({ id }: Incident) => id,
  members: ([, dlqId]: SharedMember) => dlqId,
  flowControl: ({ flowControlKey }: { readonly flowControlKey: string }) => flowControlKey,
  urlGroups: ({ name }: { readonly name: string }) => name,
  searchIndexes: ({ index }: { readonly index: string }) => index,
  vectorStats: ({ index }: { readonly index: string }) => index,
};

/** Returns the id of the rows of a list. Rows of short lists need none. */
export function idsOf(list: ListName): (row: unknown) => string {
  return (IDS[list] as ((row: unknown) => string) | undefined) ?? (() => '');
}
