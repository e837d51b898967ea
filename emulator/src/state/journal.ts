/** Listener for the changes of an account, for storage. It is called at the time of the change. */
import type { DeadMessage } from './message.ts';
import type { LogEntry } from './log.ts';

export type DeadLetterQueueName = 'dlq' | 'workflowDlq';

/** Small items that are stored whole, each under its own key. */
export type ItemKind = 'urlGroup' | 'flowControl' | 'flowPeriod' | 'deduplication';

export interface AccountJournal {
  logged(entry: LogEntry): void;
  /** Called for an entry dropped by the retention. Entries are dropped in the order of their arrival. */
  dropped(entry: LogEntry): void;
  deadLetterAdded(queue: DeadLetterQueueName, deadLetter: DeadMessage): void;
  deadLetterRemoved(queue: DeadLetterQueueName, deadLetter: DeadMessage): void;
  put(kind: ItemKind, key: string, value: unknown): void;
  removed(kind: ItemKind, key: string): void;
}
