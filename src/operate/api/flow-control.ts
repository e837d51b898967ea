/** Flow-control keys: their last reading, their saturation, and their waiting messages over the last hours. */
import { constraintOf, type Constraint, type WatchedFlowControlKey } from '#foundation/domain/flow-control.ts';
import type { WaitingPoint } from '#observe/observations/flow-control-history.ts';
import type { ApiDeps } from './api-deps.ts';
import { sourceViews } from './status.ts';
import type { SourceView } from './status-views.ts';

/** One key: `/api/v1/flow-control`. Limits and counts have the service's names. */
export interface FlowControlKeyView extends WatchedFlowControlKey {
  readonly account: string;
  /** Time of the reading. */
  readonly at: number;
  /**
   * Used share of the tighter limit; more than 1 if a limit was lowered. Absent if the key has no limit, or the service
   * did not return its use.
   */
  readonly saturation?: number;
  /** Constraint that keeps the key's messages waiting; absent if none waits. */
  readonly constraint?: Constraint;
  /** Highest reading of each bucket, oldest first. A bucket without a reading is absent. */
  readonly history: readonly WaitingPoint[];
}

export interface FlowControlView {
  readonly at: number;
  /** Length of a bucket of `history`. */
  readonly bucketMs: number;
  /** Keys of fresh readings: paused keys with waiting messages first, then by saturation, then by waiting messages. */
  readonly keys: readonly FlowControlKeyView[];
  /** Collector of each account. Keys of a collector without fresh data are not in `keys`. */
  readonly sources: readonly SourceView[];
}

export function readFlowControl(
  deps: Pick<ApiDeps, 'clock' | 'board' | 'accounts' | 'flowControlHistory'>,
  account?: string,
): FlowControlView {
  const { clock, board, flowControlHistory } = deps;
  const at = clock.now();
  const names = deps.accounts.map(({ name }) => name).filter((name) => account === undefined || name === account);
  const keys = names.flatMap((name) => {
    const batch = board.fresh(name, 'flowControl');
    return (batch?.rows ?? []).map((row) => ({
      account: name,
      at: batch!.at,
      ...row,
      ...saturationOf(row),
      ...(row.waitListSize > 0 && { constraint: constraintOf(row)! }),
      history: flowControlHistory.of(name, row.flowControlKey, at),
    }));
  });
  return {
    at,
    bucketMs: flowControlHistory.bucketMs,
    keys: keys.sort(
      (a, b) =>
        Number(b.constraint === 'paused') - Number(a.constraint === 'paused') ||
        (b.saturation ?? -1) - (a.saturation ?? -1) ||
        b.waitListSize - a.waitListSize,
    ),
    sources: sourceViews(board).filter(
      (source) => source.collector === 'flowControl' && names.includes(source.account),
    ),
  };
}

function saturationOf(key: WatchedFlowControlKey): { readonly saturation?: number } {
  const { parallelismMax, parallelismCount, rateMax, rateCount } = key;
  const shares = [shareOf(parallelismCount, parallelismMax), shareOf(rateCount, rateMax)];
  const known = shares.filter((share) => share !== undefined);
  return known.length === 0 ? {} : { saturation: Math.max(...known) };
}

function shareOf(count: number | undefined, max: number | undefined): number | undefined {
  return count === undefined || max === undefined || max <= 0 ? undefined : count / max;
}
