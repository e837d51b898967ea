/**
 * Port for delivery events: log lines about ended messages, kept until they are written out. The commit that learns of
 * the end stores the line in its transaction. The line is removed after it is written. After a crash in between, the
 * line is written again and no line is lost.
 */

interface DeliveryLines {
  /** Ids of these lines, for `settle`. */
  readonly ids: readonly number[];
  /** Lines, each with its line break. */
  readonly text: string;
}

export interface DeliveryOutbox {
  /** Returns the oldest lines, at most a few hundred; undefined if there are none. */
  next(): Promise<DeliveryLines | undefined>;
  /** Removes lines durably, after they were written. */
  settle(ids: readonly number[]): Promise<void>;
  /** Number of unwritten lines that are stored or being stored. */
  readonly queued: number;
  /** Registers a listener that is called after each commit that added lines. */
  onStored(listener: () => void): Disposable;
}
