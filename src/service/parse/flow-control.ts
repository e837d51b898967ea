/** Parses a flow-control key (interface 2.6). */
import type { FlowControlKey } from '#foundation/domain/flow-control.ts';
import { jsonObject, optionalBoolean, optionalCount, parseJson, requireCount, requireText } from './reader.ts';
import { optionalSecondsTime } from './time.ts';

export function parseFlowControl(body: Buffer): FlowControlKey {
  const row = jsonObject(parseJson(body), 'answer');
  return {
    flowControlKey: requireText(row, 'flowControlKey'),
    waitListSize: requireCount(row, 'waitListSize'),
    parallelismMax: optionalCount(row, 'parallelismMax'),
    parallelismCount: optionalCount(row, 'parallelismCount'),
    rateMax: optionalCount(row, 'rateMax'),
    rateCount: optionalCount(row, 'rateCount'),
    ratePeriod: optionalCount(row, 'ratePeriod'),
    ratePeriodStart: optionalSecondsTime(row, 'ratePeriodStart'),
    isPinnedParallelism: optionalBoolean(row, 'isPinnedParallelism'),
    isPinnedRate: optionalBoolean(row, 'isPinnedRate'),
    isPaused: optionalBoolean(row, 'isPaused'),
  };
}
