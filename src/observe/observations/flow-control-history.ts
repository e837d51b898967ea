/**
 * Waiting messages of flow-control keys over the last hours: the highest reading of each bucket of time. A bucket
 * without a reading is absent, since nothing is known about it. The history is in memory and ends with the process.
 */
import type { WatchedFlowControlKey } from '#foundation/domain/flow-control.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import type { ObservationBoard } from './board.ts';

const BUCKET_MS = 180_000;
const BUCKETS = 60;
/** Maximum number of keys per account. The key whose last reading is oldest is removed first. */
const MOST_KEYS = 1_000;

export interface WaitingPoint {
  /** Epoch milliseconds of the start of the bucket. */
  readonly at: number;
  /** Highest number of waiting messages that a reading of the bucket had. */
  readonly waitListSize: number;
}

export class FlowControlHistory {
  readonly bucketMs = BUCKET_MS;
  readonly #accounts = new Map<string, Map<string, Map<number, number>>>();

  /** Takes every new reading of the board. */
  follow(board: ObservationBoard): Disposable {
    return board.subscribe((batch) => {
      if (batch.collector === 'flowControl') {
        this.take(batch.account, batch.at, batch.rows as readonly WatchedFlowControlKey[]);
      }
    });
  }

  /** @param at epoch milliseconds of the reading */
  take(account: string, at: number, rows: readonly WatchedFlowControlKey[]): void {
    const keys = getOrAdd(this.#accounts, account, () => new Map<string, Map<number, number>>());
    const bucket = Math.floor(at / BUCKET_MS);
    for (const { flowControlKey, waitListSize } of rows) {
      const points = keys.get(flowControlKey) ?? new Map<number, number>();
      points.set(bucket, Math.max(waitListSize, points.get(bucket) ?? 0));
      for (const old of points.keys()) if (old <= bucket - BUCKETS) points.delete(old);
      // The keys are in the order of their last reading.
      keys.delete(flowControlKey);
      keys.set(flowControlKey, points);
    }
    for (const key of keys.keys()) {
      if (keys.size <= MOST_KEYS) break;
      keys.delete(key);
    }
  }

  /** Returns the points of a key in the last hours before `now`, oldest first. */
  of(account: string, flowControlKey: string, now: number): readonly WaitingPoint[] {
    const first = Math.floor(now / BUCKET_MS) - BUCKETS + 1;
    return [...(this.#accounts.get(account)?.get(flowControlKey) ?? [])]
      .filter(([bucket]) => bucket >= first)
      .sort(([a], [b]) => a - b)
      .map(([bucket, waitListSize]) => ({ at: bucket * BUCKET_MS, waitListSize }));
  }
}
