/**
 * Makes a failing history smaller: fewer minutes, then the shortest prefix of its faults, then fewer of these. Each step
 * keeps a history that fails with the same invariant. The search ends after a number of runs or a time.
 */
import type { History, HistoryOptions } from './history.ts';

interface Limits {
  readonly runs: number;
  readonly ms: number;
}

const LIMITS: Limits = { runs: 60, ms: 600_000 };

interface Minimized {
  readonly history: History;
  /** Minutes with faults. */
  readonly minutes: number;
  readonly runs: number;
}

type Smaller = Pick<HistoryOptions, 'minutes' | 'from'> & { readonly single: readonly number[] };

export async function minimize(
  play: (options: HistoryOptions) => Promise<History>,
  failed: History,
  { minutes, limits = LIMITS }: { readonly minutes: number; readonly limits?: Limits },
): Promise<Minimized> {
  const end = performance.now() + limits.ms;
  let order: Smaller = { minutes, single: [] };
  let history = failed;
  let runs = 0;
  const isOver = (): boolean => runs >= limits.runs || performance.now() >= end;
  /** Plays a smaller history, and keeps it if it fails as well. */
  const isKept = async (change: Partial<Smaller>): Promise<boolean> => {
    const tried = { ...order, ...change };
    runs += 1;
    const played = await play({ seed: failed.seed, isTraced: true, ...tried });
    if (played.failure?.invariant !== failed.failure!.invariant) return false;
    [order, history] = [tried, played];
    return true;
  };
  /** Finds the least number that fails, as far as more fail as well. */
  const least = async (most: number, changeTo: (number: number) => Partial<Smaller>): Promise<void> => {
    let [low, high] = [0, most];
    while (low < high && !isOver()) {
      const middle = Math.floor((low + high) / 2);
      if (await isKept(changeTo(middle))) high = middle;
      else low = middle + 1;
    }
  };

  await least(Math.min(minutes, Math.ceil(failed.minutes)) - 1, (number) => ({ minutes: number + 1 }));
  await least(history.faults.length === 0 ? 0 : history.faults.at(-1)!.number + 1, (from) => ({ from }));
  for (let size = Math.ceil(history.faults.length / 2); size >= 1 && !isOver(); size = Math.floor(size / 2)) {
    const numbers = history.faults.map(({ number }) => number);
    for (let last = numbers.length; last > 0 && !isOver(); last -= size) {
      await isKept({ single: [...order.single, ...numbers.slice(Math.max(0, last - size), last)] });
    }
  }
  if (history.lines === undefined) history = await play({ seed: failed.seed, isTraced: true, ...order });
  return { history, minutes: order.minutes, runs };
}
