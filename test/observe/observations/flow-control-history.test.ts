/** History of waiting messages: the highest reading of each bucket, bounded in time and in keys. */
import { expect, test } from 'vitest';
import { FlowControlHistory } from '#observe/observations/flow-control-history.ts';
import { ObservationBoard } from '#observe/observations/board.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';

const START = Date.UTC(2026, 10, 18, 9, 0, 0);
const BUCKET_MS = new FlowControlHistory().bucketMs;

const key = (flowControlKey: string, waitListSize: number) => ({ flowControlKey, waitListSize });

test('a bucket has its highest reading, and a bucket without a reading is absent', () => {
  const history = new FlowControlHistory();
  for (const [at, waiting] of [
    [0, 3],
    [1_000, 9],
    [2_000, 4],
    [2 * BUCKET_MS, 0],
  ] as const) {
    history.take('a', START + at, [key('k', waiting)]);
  }
  expect(history.of('a', 'k', START + 2 * BUCKET_MS)).toEqual([
    { at: START, waitListSize: 9 },
    { at: START + 2 * BUCKET_MS, waitListSize: 0 },
  ]);
  expect(history.of('b', 'k', START)).toEqual([]);
});

test('readings older than three hours are forgotten', () => {
  const history = new FlowControlHistory();
  const hours = 3 * 3_600_000;
  history.take('a', START, [key('k', 1)]);
  history.take('a', START + hours - 1, [key('k', 2)]);
  expect(history.of('a', 'k', START + hours - 1)).toHaveLength(2);
  expect(history.of('a', 'k', START + hours)).toEqual([{ at: START + hours - BUCKET_MS, waitListSize: 2 }]);
  history.take('a', START + hours, [key('k', 3)]);
  expect(history.of('a', 'k', START + hours - 1)).toHaveLength(2);
});

test('keys are bounded; the key with the oldest reading is removed first', () => {
  const history = new FlowControlHistory();
  history.take('a', START, [key('first', 1), key('second', 1)]);
  history.take('a', START, [key('first', 1)]);
  const others = Array.from({ length: 999 }, (_, at) => key(`k${at}`, 1));
  history.take('a', START, others);
  expect(history.of('a', 'second', START)).toEqual([]);
  expect(history.of('a', 'first', START)).toHaveLength(1);
});

test('it follows the readings of a board until its disposal', () => {
  const clock = new ManualClock(START);
  const board = new ObservationBoard(clock);
  board.register({ account: 'a', collector: 'flowControl', schedule: '', intervalMs: 1, maxStalenessMs: 1 });
  const history = new FlowControlHistory();
  const publish = (waiting: number): void =>
    board.publish({ account: 'a', collector: 'flowControl', at: START, rows: [key('k', waiting)], dropped: 0 }, 1);
  const following = history.follow(board);
  publish(5);
  following[Symbol.dispose]();
  publish(7);
  expect(history.of('a', 'k', START)).toEqual([{ at: START, waitListSize: 5 }]);
});
