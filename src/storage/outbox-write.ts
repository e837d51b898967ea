import type { Work } from './database.ts';

/** Write of an outbox as a part of a commit. Its rows count as queued from its creation. */
export interface OutboxWrite {
  /** Statements of the commit's transaction. */
  readonly work: Work<unknown>;
  /** Call it after the commit. */
  committed(): void;
  /** Call it if the commit failed. */
  failed(): void;
}
