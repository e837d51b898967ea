import { expect, test } from 'vitest';
import type { AccountReading } from '#foundation/domain/statistics.ts';
import { ObservationBoard } from '#observe/observations/board.ts';
import { announceChecks } from '#observe/observations/statistics-checks.ts';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';

test('each check is reported once, however often its batch comes again', () => {
  const board = new ObservationBoard(new ManualClock(0));
  board.register({ account: 'a', collector: 'accountStats', schedule: '', intervalMs: 1, maxStalenessMs: 1 });
  const events = new EventBus();
  const said: OpsEvent[] = [];
  events.subscribe((event) => said.push(event));
  using _announced = announceChecks(board, events);
  const publish = (row: AccountReading): void =>
    board.publish({ account: 'a', collector: 'accountStats', at: 0, rows: [row], dropped: 0 }, 0);

  const hour = { state: 'DELIVERED', hour: 1, logs: 9, statistics: 5, agrees: false, isLasting: true } as const;
  const pointsCheck = { at: 1, sources: [{ source: 'used', points: 5, day: 5, isWrong: false }] };
  publish({ reconciled: [hour], pointsCheck });
  publish({ reconciled: [hour], pointsCheck });
  publish({});
  publish({ reconciled: [{ ...hour, hour: 2, isLasting: false }], pointsCheck: { ...pointsCheck, at: 2 } });
  const about = { type: 'statistics.checked', account: 'a' };
  const day = { ...about, against: 'day', what: 'used', statistics: 5, other: 5, isWrong: false };
  const log = { ...about, against: 'log', what: 'DELIVERED', statistics: 5, other: 9 };
  expect(said).toEqual([day, { ...log, isWrong: true }, day, { ...log, isWrong: false }]);
});
