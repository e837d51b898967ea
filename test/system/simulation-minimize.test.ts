import { expect, test } from 'vitest';
import type { Fault } from '../simulation/faults.ts';
import type { History, HistoryOptions } from '../simulation/history.ts';
import { minimize } from '../simulation/minimize.ts';

/** Plays histories with a fault each minute, of which some together break an invariant. */
function player(needed: readonly number[]) {
  const orders: HistoryOptions[] = [];
  const play = ({ seed, minutes, from = Infinity, single = [] }: HistoryOptions): History => {
    const faults = Array.from({ length: minutes }, (_, number): Fault => ({ number, kind: 'slow', at: number }));
    const struck = faults.filter(({ number }) => number < from && !single.includes(number));
    const isBroken = needed.every((number) => struck.some((fault) => fault.number === number));
    const failure = { invariant: isBroken ? 'none is lost' : 'another one', detail: '' };
    return {
      seed,
      steps: 1,
      minutes,
      hash: '',
      faults: struck,
      unknown: [],
      failure,
      lines: [`${struck.length} faults`],
    };
  };
  return {
    orders,
    play: async (order: HistoryOptions) => {
      orders.push(order);
      // Orders are messages to another process: they have no Infinity.
      return play(JSON.parse(JSON.stringify(order)) as HistoryOptions);
    },
    failed: play({ seed: 1, minutes: 90 }),
  };
}

test('a failing history is made as short as it still fails, with the faults that it needs', async () => {
  const { play, failed, orders } = player([3, 17]);
  const { history, minutes, runs } = await minimize(play, failed, { minutes: 90 });
  expect(history.faults.map(({ number }) => number)).toEqual([3, 17]);
  expect(minutes).toBe(18);
  expect(history).toMatchObject({ failure: { invariant: 'none is lost' }, lines: ['2 faults'] });
  expect(runs).toBe(orders.length);
  expect(runs).toBeLessThanOrEqual(60);
});

test('a history that fails without faults keeps none', async () => {
  const { play, failed } = player([]);
  const { history, minutes } = await minimize(play, failed, { minutes: 90 });
  expect(history.faults).toEqual([]);
  expect(minutes).toBe(1);
});

test('the search ends after its runs, and after its time', async () => {
  const { play, failed } = player([3, 17, 40, 71]);
  expect(await minimize(play, failed, { minutes: 90, limits: { runs: 5, ms: 60_000 } })).toMatchObject({ runs: 5 });
  const { history, runs } = await minimize(play, failed, { minutes: 90, limits: { runs: 60, ms: 0 } });
  expect(runs).toBe(0);
  expect(history.lines).toEqual(['90 faults']);
});
