/** What the parts of an account tell of their changes, for whoever keeps them. Told at the moment of the change. */
import type { DeadLetter } from './dlq.ts';
import type { LogEntry } from './log-chunk.ts';

export type LetterQueue = 'dlq' | 'workflowDlq';

/** Small things that are kept whole, each under a key of its own. */
export type ItemKind = 'urlGroup' | 'flowControl' | 'flowPeriod' | 'deduplication';

export interface AccountJournal {
  logged(entry: LogEntry): void;
  /** Dropped by retention; entries go in the order of their coming. */
  dropped(entry: LogEntry): void;
  letterAdded(queue: LetterQueue, letter: DeadLetter): void;
  letterRemoved(queue: LetterQueue, letter: DeadLetter): void;
  put(kind: ItemKind, key: string, value: unknown): void;
  removed(kind: ItemKind, key: string): void;
}
