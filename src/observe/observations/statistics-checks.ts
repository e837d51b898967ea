/** Emits an event with the result of each new check of the statistics. */
import type { Batch } from '#foundation/domain/observation.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { ObservationBoard } from './board.ts';

export function announceChecks(board: ObservationBoard, events: EventBus): Disposable {
  /** Time of the last reported result, by account and check. */
  const said = new Map<string, number>();

  function isNew(key: string, at: number): boolean {
    if (said.get(key) === at) return false;
    said.set(key, at);
    return true;
  }

  return board.subscribe((batch) => {
    if (batch.collector !== 'accountStats') return;
    const { account, rows } = batch as Batch<'accountStats'>;
    for (const { pointsCheck, reconciled = [] } of rows) {
      for (const { source, points, day, isWrong } of pointsCheck?.sources ?? []) {
        if (!isNew(`${account}\0day\0${source}`, pointsCheck!.at)) continue;
        events.emit({
          type: 'statistics.checked',
          account,
          against: 'day',
          what: source,
          statistics: points,
          other: day,
          isWrong,
        });
      }
      for (const { state, hour, statistics, logs, isLasting } of reconciled) {
        if (!isNew(`${account}\0log\0${state}`, hour)) continue;
        events.emit({
          type: 'statistics.checked',
          account,
          against: 'log',
          what: state,
          statistics,
          other: logs,
          isWrong: isLasting,
        });
      }
    }
  });
}
