/** Emits an event with the result of each new check of the statistics. */
import type { Batch } from '#foundation/domain/observation.ts';
import type { EventBus, EventOf } from '#foundation/events/events.ts';
import type { ObservationBoard } from './board.ts';

export function announceChecks(board: ObservationBoard, events: EventBus): Disposable {
  /** Time of the last reported result, by account and check. */
  const said = new Map<string, number>();

  function announce(at: number, check: Omit<EventOf<'statistics.checked'>, 'type'>): void {
    const key = `${check.account}\0${check.against}\0${check.what}`;
    if (said.get(key) === at) return;
    said.set(key, at);
    events.emit({ type: 'statistics.checked', ...check });
  }

  return board.subscribe((batch) => {
    if (batch.collector !== 'accountStats') return;
    const { account, rows } = batch as Batch<'accountStats'>;
    for (const { pointsCheck, reconciled = [] } of rows) {
      for (const { source, points, day, isWrong } of pointsCheck?.sources ?? []) {
        announce(pointsCheck!.at, { account, against: 'day', what: source, statistics: points, other: day, isWrong });
      }
      for (const { state, hour, statistics, logs, isLasting } of reconciled) {
        announce(hour, { account, against: 'log', what: state, statistics, other: logs, isWrong: isLasting });
      }
    }
  });
}
