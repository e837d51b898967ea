/**
 * `npm run simulate`: histories of the whole daemon, each from one seed. The histories are shared among processes; the
 * hash does not depend on their number.
 */
import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { readArguments, type Arguments } from './arguments.ts';
import type { History, HistoryOptions } from './history.ts';
import { MUTANTS } from './mutants.ts';
import { minimize } from './minimize.ts';
import { Player } from './player.ts';

/** Runs the histories in the order of their seeds. Each one is given to `use` in that order, until it returns false. */
async function runAll(given: Arguments, players: readonly Player[], use: (history: History) => Promise<boolean>) {
  const last = given.seed + given.histories;
  const results = new Map<number, PromiseWithResolvers<History>>();
  for (let seed = given.seed; seed < last; seed += 1) results.set(seed, Promise.withResolvers());
  const state = { next: given.seed, isOver: false };
  const work = players.map(async (player) => {
    const { minutes, isTraced, worse, hasRest } = given;
    while (state.next < last && !state.isOver) {
      const seed = state.next++;
      results.get(seed)!.resolve(await player.run({ seed, minutes, isTraced, worse, hasRest }));
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

function countsOf({ faults }: History): Readonly<Record<string, number>> {
  return Object.fromEntries([...Map.groupBy(faults, ({ kind }) => kind)].map(([kind, same]) => [kind, same.length]));
}

async function main(): Promise<number> {
  const given = readArguments(process.argv.slice(2), availableParallelism());
  const { mutant } = given;
  if (mutant !== undefined && MUTANTS[mutant] === undefined)
    throw new Error(`unknown mutant ${mutant}; there are: ${Object.keys(MUTANTS).join(', ')}`);
  const print = (text: string): void => void process.stdout.write(`${text}\n`);
  using stack = new DisposableStack();
  const players = Array.from({ length: Math.min(given.jobs, given.histories) }, () =>
    stack.adopt(new Player(mutant), (player) => player.end()),
  );
  const hash = createHash('sha256');
  let [steps, count] = [0, 0];
  let failed: History | undefined;
  const unknown = new Set(Object.keys(given.worse));
  await runAll(given, players, async (history) => {
    count += 1;
    steps += history.steps;
    hash.update(history.hash);
    for (const kind of unknown) if (!history.unknown.includes(kind)) unknown.delete(kind);
    if (given.isTraced) for (const line of history.lines ?? []) print(line);
    if (history.failure === undefined) return true;
    failed = history;
    return false;
  });
  if (failed !== undefined) {
    let shown = failed;
    if (given.isMinimized) {
      const { worse, hasRest } = given;
      const play = (options: HistoryOptions): Promise<History> => players[0]!.run({ worse, hasRest, ...options });
      const { history, minutes, runs } = await minimize(play, failed, given);
      shown = history;
      for (const line of history.lines ?? []) print(line);
      print(`${runs} runs: it fails with --minutes ${minutes} and these faults`);
      for (const { at, kind } of history.faults) print(`  ${new Date(at).toISOString().slice(11, 19)} ${kind}`);
    }
    print(shown.failure!.detail);
    print(`faults: ${JSON.stringify(countsOf(shown))}`);
    print(`seed ${failed.seed} failed at step ${shown.steps}: ${shown.failure!.invariant}`);
  } else if (unknown.size > 0) throw new Error(`no history has the fault ${[...unknown].join(', ')}`);
  print(`${count} histories, ${steps} steps, hash ${hash.digest('hex').slice(0, 16)}`);
  return failed === undefined ? 0 : 1;
}

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  return 2;
});
