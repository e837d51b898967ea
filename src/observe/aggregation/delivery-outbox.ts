/**
 * The port through which lines about ended messages are kept until they are written out. They are stored in the
 * transaction of the commit that learnt of the end and taken out after the writing, so a crash in between writes a line
 * again and loses none.
 */

interface DeliveryLines {
  /** The last of them, for `settle`. */
  readonly id: number;
  /** Each with its line break. */
  readonly text: string;
  readonly lines: number;
}

export interface DeliveryOutbox {
  /** The oldest lines, some hundred at most; undefined when there are none. */
  next(): DeliveryLines | undefined;
  /** Lines up to this one were written: durably gone. */
  settle(id: number): void;
  /** Lines that wait. */
  readonly waiting: number;
  /** Told after each commit that brought lines. */
  onStored(listener: () => void): Disposable;
}
