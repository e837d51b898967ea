/** Samples for the history: fresh readings only, once a minute, and only while the time is certain. */
import { expect, test } from 'vitest';
import { sampleOf, scheduleHistory } from '#app/history.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { EventBus } from '#foundation/events/events.ts';
import { Scheduler } from '#foundation/scheduler/scheduler.ts';
import type { HistorySample } from '#observe/aggregation/history-store.ts';
import { ObservationBoard } from '#observe/observations/board.ts';

const T0 = Date.UTC(2026, 10, 20, 10);
const ACCOUNT = 'production';

function boardOf(clock: ManualClock): ObservationBoard {
  const board = new ObservationBoard(clock);
  for (const collector of ['logs', 'accountStats', 'workflowDlq', 'flowControl'] as const) {
    board.register({ account: ACCOUNT, collector, schedule: 'every 1m', intervalMs: 60_000, maxStalenessMs: 180_000 });
  }
  return board;
}

const key = (flowControlKey: string, waitListSize: number) => ({ flowControlKey, waitListSize });

test('a sample has fresh readings, and nothing for the others', async () => {
  const clock = new ManualClock(T0);
  const board = boardOf(clock);
  const given = { at: T0, board, deadLetters: undefined };
  const unknown = { account: ACCOUNT, at: T0 };
  expect(sampleOf(ACCOUNT, given)).toEqual(unknown);
  const inFlight = [
    { destination: 'a', messages: 2 },
    { destination: 'b', messages: 3 },
  ];
  const spend = { monthUsd: 1.5 };
  const read = (collector: 'logs' | 'accountStats' | 'workflowDlq' | 'flowControl', rows: readonly unknown[]) =>
    board.publish({ account: ACCOUNT, collector, at: T0, rows, dropped: 0 } as Parameters<typeof board.publish>[0], 5);
  read('logs', [{ watermark: T0, inFlight }]);
  read('accountStats', [{ spend }]);
  read('workflowDlq', []);
  read('flowControl', [key('none', 0), key('few', 1), key('many', 9)]);
  const known = { inFlight: 5, failedRuns: 0, deadLetters: 4, spendUsd: 1.5 };
  expect(sampleOf(ACCOUNT, { ...given, deadLetters: 4 })).toEqual({
    ...unknown,
    ...known,
    flowControl: {
      keys: [
        ['many', 9],
        ['few', 1],
      ],
      isCut: false,
    },
  });
  const busy = Array.from({ length: 11 }, (_, index) => key(`key ${index}`, index + 1));
  read('flowControl', busy);
  expect(sampleOf(ACCOUNT, given).flowControl).toMatchObject({ keys: { length: 10 }, isCut: true });
  read('flowControl', [key('long', 1), key('x'.repeat(500), 2)]);
  expect(sampleOf(ACCOUNT, given).flowControl).toEqual({ keys: [], isCut: true });
  await clock.advance(180_001);
  expect(sampleOf(ACCOUNT, given)).toEqual(unknown);
});

test('each minute has one sample, unless the time is uncertain', async () => {
  const clock = new ManualClock(T0 + 20_000);
  const samples: HistorySample[] = [];
  let isVerified = true;
  const scheduler = new Scheduler({ clock, events: new EventBus(), random: () => 0.5 });
  scheduleHistory({
    accounts: [ACCOUNT, 'staging'],
    scheduler,
    board: boardOf(clock),
    incidents: { deadLetters: () => [] },
    clock: { now: () => clock.now(), isVerified: () => isVerified },
    store: {
      async addSamples(added) {
        samples.push(...added);
      },
    },
  });
  scheduler.start();
  for (let minute = 0; minute < 3; minute += 1) await clock.advance(60_000);
  expect(samples.map(({ account, at }) => [account, Math.floor((at - T0) / 60_000)])).toEqual(
    [0, 1, 2, 3].flatMap((minute) => [
      [ACCOUNT, minute],
      ['staging', minute],
    ]),
  );
  isVerified = false;
  await clock.advance(60_000);
  expect(samples).toHaveLength(8);
  const stopped = scheduler.stop();
  await clock.advance(60_000);
  await stopped;
});
