/** Flow-control keys: their last reading, their saturation, and their waiting messages over the last hours. */
import { constraintOf, type WatchedFlowControlKey } from '#foundation/domain/flow-control.ts';
import type { FlowControlView } from '../contract/readings.ts';
import { flowControlAdvice } from '../situation/flow-control.ts';
import type { ApiDeps } from './api-deps.ts';
import { sourceViews } from './status.ts';

export function readFlowControl(
  deps: Pick<ApiDeps, 'clock' | 'board' | 'accounts' | 'flowControlHistory'>,
  account?: string,
): FlowControlView {
  const { clock, board, flowControlHistory } = deps;
  const at = clock.now();
  const names = deps.accounts.map(({ name }) => name).filter((name) => account === undefined || name === account);
  const keys = names.flatMap((name) => {
    const batch = board.fresh(name, 'flowControl');
    return (batch?.rows ?? []).map((row) => {
      const constraint = constraintOf(row);
      const history = flowControlHistory.of(name, row.flowControlKey, at);
      return {
        account: name,
        at: batch!.at,
        ...row,
        saturation: saturationOf(row),
        constraint,
        advice: flowControlAdvice(row, constraint, history),
        history,
      };
    });
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

function saturationOf(key: WatchedFlowControlKey): number | undefined {
  const { parallelismMax, parallelismCount, rateMax, rateCount } = key;
  const shares = [shareOf(parallelismCount, parallelismMax), shareOf(rateCount, rateMax)];
  const known = shares.filter((share) => share !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

function shareOf(count: number | undefined, max: number | undefined): number | undefined {
  return count === undefined || max === undefined || max <= 0 ? undefined : count / max;
}
