/**
 * `npm run simulate`: histories of the whole daemon, each from one seed. The histories are shared among processes; the
 * hash does not depend on their number.
 */
import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { readArguments, type Arguments } from './arguments.ts';
import type { History } from './history.ts';
import { MUTANTS } from './mutants.ts';
import { Player } from './player.ts';

/** Runs the histories in the order of their seeds. Each one is given to `use` in that order, until it returns false. */
async function runAll(given: Arguments, players: readonly Player[], use: (history: History) => Promise<boolean>) {
  const last = given.seed + given.histories;
  const results = new Map<number, PromiseWithResolvers<History>>();
  for (let seed = given.seed; seed < last; seed += 1) results.set(seed, Promise.withResolvers());
  const state = { next: given.seed, isOver: false };
  const work = players.map(async (player) => {
    while (state.next < last && !state.isOver) {
      const seed = state.next++;
      results.get(seed)!.resolve(await player.run({ seed, minutes: given.minutes, isTraced: given.isTraced }));
    }
  });
  Promise.all(work).catch((error: unknown) => results.forEach(({ reject }) => reject(error)));
  for (const { promise } of results.values()) {
    if (await use(await promise)) continue;
    state.isOver = true;
    break;
  }
  await Promise.allSettled(work);
}

/** Returns the history with as few faults as possible: it still fails with the same invariant. */
async function minimize(player: Player, failed: History, minutes: number): Promise<History> {
  const again = (from: number, single: readonly number[]): Promise<History> =>
    player.run({ seed: failed.seed, minutes, isTraced: true, from, single: [...single] });
  const isSame = ({ failure }: History): boolean => failure?.invariant === failed.failure!.invariant;
  let best = await again(failed.faults, []);
  let least = failed.faults;
  for (let low = 0; low < least;) {
    const middle = Math.floor((low + least) / 2);
    const tried = await again(middle, []);
    if (isSame(tried)) [best, least] = [tried, middle];
    else low = middle + 1;
  }
  const spared: number[] = [];
  for (let fault = least - 2; fault >= 0; fault -= 1) {
    const tried = await again(least, [...spared, fault]);
    if (!isSame(tried)) continue;
    best = tried;
    spared.push(fault);
  }
  return best;
}

async function main(): Promise<number> {
  const given = readArguments(process.argv.slice(2), availableParallelism());
  const { mutant } = given;
  if (mutant !== undefined && MUTANTS[mutant] === undefined)
    throw new Error(`unknown mutant ${mutant}; there are: ${Object.keys(MUTANTS).join(', ')}`);
  const print = (text: string): void => void process.stdout.write(`${text}\n`);
  const players = Array.from({ length: Math.min(given.jobs, given.histories) }, () => new Player(mutant));
  const hash = createHash('sha256');
  let [steps, count] = [0, 0];
  let failed: History | undefined;
  await runAll(given, players, async (history) => {
    count += 1;
    steps += history.steps;
    hash.update(history.hash);
    if (given.isTraced) for (const line of history.lines ?? []) print(line);
    if (history.failure === undefined) return true;
    failed = history;
    return false;
  });
  if (failed !== undefined) {
    const shown = given.isMinimized ? await minimize(players[0]!, failed, given.minutes) : failed;
    if (given.isMinimized) print((shown.lines ?? []).join('\n'));
    print(shown.failure!.detail);
    print(`faults: ${JSON.stringify(shown.kinds)}`);
    print(`seed ${failed.seed} failed at step ${shown.steps}: ${shown.failure!.invariant}`);
  }
  print(`${count} histories, ${steps} steps, hash ${hash.digest('hex').slice(0, 16)}`);
  for (const player of players) player.end();
  return failed === undefined ? 0 : 1;
}

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  return 2;
});
