/** The port of what must outlive a restart: conditions that stand, and notifications that were not delivered. */
import type { Notice } from '#foundation/domain/notice.ts';

export interface KeptNotice {
  /** As it was last told, or at its end. */
  readonly notice: Notice;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Absent while it stands. */
  readonly endedAt?: number;
  /** While it has not lasted long enough for people to be told. */
  readonly isUntold?: true;
}

export interface QueuedNotice {
  readonly id: number;
  /** `webhook`, or `webhook/OWNER`. */
  readonly receiver: string;
  readonly kept: KeptNotice;
}

export interface NoticeStore {
  load(): { readonly notices: readonly KeptNotice[]; readonly queue: readonly QueuedNotice[] };
  /** All of it or nothing; undefined removes. @throws {Error} when the store cannot be written */
  save(changes: {
    readonly notices: ReadonlyMap<string, KeptNotice | undefined>;
    readonly queue: ReadonlyMap<number, QueuedNotice | undefined>;
  }): void;
}
