import { describe, expect, test } from 'vitest';
import type { FlowControlKey } from '#foundation/domain/flow-control.ts';
import { ObservationBoard } from '#observe/observations/board.ts';
import { collectorTask } from '#observe/observations/run-collector.ts';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { TimeoutError } from '#foundation/platform/sleep.ts';

const T0 = Date.UTC(2026, 10, 20, 10);
const account = 'production';
const collector = 'flowControl';
const row: FlowControlKey = { flowControlKey: 'billing', waitListSize: 3 };

type Collect = Parameters<typeof collectorTask<'flowControl'>>[0]['collect'];

function world(collect: Collect, mayNot?: () => 'quota' | undefined) {
  const clock = new ManualClock(T0);
  const board = new ObservationBoard(clock);
  board.register({ account, collector, schedule: 'every 15s', intervalMs: 15_000, maxStalenessMs: 180_000 });
  const events = new EventBus();
  const heard: OpsEvent[] = [];
  events.subscribe((event) => heard.push(event));
  const task = collectorTask({ account, collector, board, events, clock, collect, mayNot });
  return { clock, board, heard, task };
}

const never = new AbortController().signal;

class CodedError extends Error {
  readonly code: string;
  constructor(code: string) {
    super(`went wrong: ${code}`);
    this.code = code;
  }
}

describe('a run that succeeds', () => {
  test('publishes the batch with its time, and reports it', async () => {
    const w = world(async () => {
      await w.clock.advance(250);
      return { rows: [row], dropped: 1 };
    });
    await w.task.run(never);
    expect(w.board.latest(account, collector)).toEqual({ account, collector, at: T0 + 250, rows: [row], dropped: 1 });
    expect(w.board.statuses()).toMatchObject([
      { runs: 1, failures: 0, lastRunAt: T0 + 250, lastDurationMs: 250, lastSuccessAt: T0 + 250, lastRunFailed: false },
    ]);
    expect(w.heard).toEqual([{ type: 'collector.finished', account, collector, at: T0 + 250, durationMs: 250 }]);
  });

  test('gets the previous batch, however old', async () => {
    const previous: unknown[] = [];
    const w = world(async (_signal, before) => {
      previous.push(before?.rows);
      return { rows: [row], dropped: 0 };
    });
    await w.task.run(never);
    await w.clock.advance(86_400_000);
    await w.task.run(never);
    expect(previous).toEqual([undefined, [row]]);
  });
});

describe('a run that fails', () => {
  test('leaves the previous batch in place, which ages visibly', async () => {
    let fails = false;
    const w = world(async () => {
      if (fails) throw new CodedError('server_error');
      return { rows: [row], dropped: 0 };
    });
    await w.task.run(never);
    fails = true;
    await w.clock.advance(180_000);
    await w.task.run(never);
    expect(w.board.fresh(account, collector)?.rows).toEqual([row]);
    await w.clock.advance(1);
    expect(w.board.isStale(account, collector)).toBe(true);
    expect(w.board.fresh(account, collector)).toBeUndefined();
    expect(w.board.latest(account, collector)?.at).toBe(T0);
    expect(w.board.statuses()).toMatchObject([
      {
        runs: 2,
        failures: 1,
        lastSuccessAt: T0,
        lastRunFailed: true,
        lastFailure: { at: T0 + 180_000, reason: 'server_error', message: 'went wrong: server_error' },
      },
    ]);
    fails = false;
    await w.task.run(never);
    expect(w.board.isStale(account, collector)).toBe(false);
    expect(w.board.statuses()).toMatchObject([{ lastRunFailed: false }]);
  });

  test('never rejects', async () => {
    // Not an Error at all.
    const w = world(() => Promise.reject('nonsense'));
    await expect(w.task.run(never)).resolves.toEqual({ againInMs: 5_000 });
    expect(w.heard).toMatchObject([{ failure: { reason: 'internal', message: 'nonsense' } }]);
  });

  const aborted = (reason: Error): AbortSignal => AbortSignal.abort(reason);
  test.each([
    ['a code of the service', new CodedError('rate_limited'), never, 'rate_limited'],
    ['a code that is not one', new CodedError('ENOENT'), never, 'internal'],
    ['no code', new TypeError('x is not a function'), never, 'internal'],
    ['its timeout', new TimeoutError('no result within 5 ms'), never, 'timeout'],
    ['its timeout, as the client tells it', new CodedError('aborted'), aborted(new TimeoutError('late')), 'timeout'],
    ['the end of the daemon', new CodedError('aborted'), aborted(new Error('stop')), 'aborted'],
    ['the end of the daemon, by its reason', new Error('stop'), aborted(new Error('stop')), 'aborted'],
    ['a failure before the end', new CodedError('unauthorized'), aborted(new Error('stop')), 'unauthorized'],
  ])('by %s has a reason of a closed set', async (_what, error, signal, reason) => {
    const w = world(() => Promise.reject(error));
    await w.task.run(signal);
    expect(w.heard).toMatchObject([{ type: 'collector.finished', failure: { reason } }]);
    expect(w.board.statuses()).toMatchObject([{ lastFailure: { reason } }]);
  });

  test('by its timeout has its time limit as the reason, whatever the aborted request said', async () => {
    const w = world(() => Promise.reject(new CodedError('aborted')));
    await w.task.run(aborted(new TimeoutError('no result within 5 ms')));
    expect(w.board.statuses()).toMatchObject([{ lastFailure: { message: 'no result within 5 ms' } }]);
  });
});

test('a run that was not started is reported', () => {
  const w = world(() => Promise.resolve({ rows: [], dropped: 0 }));
  w.task.onSkip('overlap');
  expect(w.task.name).toBe('production/flowControl');
  expect(w.heard).toEqual([{ type: 'collector.skipped', account, collector, reason: 'overlap' }]);
});

test('staleness uses the monotonic clock: a change of the wall clock withholds nothing', async () => {
  const w = world(() => Promise.resolve({ rows: [row], dropped: 0 }));
  expect(w.board.isStale(account, collector)).toBe(true);
  await w.task.run(never);
  w.clock.jump(86_400_000);
  expect(w.board.isStale(account, collector)).toBe(false);
});

describe('after a failure', () => {
  test('it requests a further run soon, then less and less often, until it succeeds', async () => {
    let failing = true;
    const w = world(() =>
      failing ? Promise.reject(new CodedError('connection')) : Promise.resolve({ rows: [], dropped: 0 }),
    );
    const asked: unknown[] = [];
    for (let run = 0; run < 6; run++) asked.push((await w.task.run(never))?.againInMs);
    expect(asked).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    failing = false;
    expect(await w.task.run(never)).toBeUndefined();
    failing = true;
    expect(await w.task.run(never)).toEqual({ againInMs: 5_000 });
  });

  test('it does not when the service required fewer requests', async () => {
    const w = world(() => Promise.reject(new CodedError('rate_limited')));
    expect(await w.task.run(never)).toBeUndefined();
  });
});

test('a run without remaining requests for today is skipped, and reported as skipped', async () => {
  let left = false;
  const { task, heard, board } = world(
    () => Promise.reject(new CodedError('budget')),
    () => (left ? undefined : 'quota'),
  );
  expect(await task.run(never)).toBeUndefined();
  expect(heard).toEqual([{ type: 'collector.skipped', account, collector, reason: 'quota' }]);
  expect(board.statuses()).toMatchObject([{ runs: 0, failures: 0 }]);
  left = true;
  await task.run(never);
  expect(heard.at(-1)).toMatchObject({ type: 'collector.finished', failure: { reason: 'budget' } });
});
