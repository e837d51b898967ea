/** A process that runs histories, with the modules of the simulation, and a mutant if one is named. */
import { enableCompileCache } from 'node:module';
import { loadAll, replaceModules } from './hooks.ts';
import { MUTANTS } from './mutants.ts';

/** A history to run. `from` and `single` name the faults that it spares. */
export interface Order {
  readonly seed: number;
  readonly minutes: number;
  readonly isTraced?: boolean;
  readonly from?: number;
  readonly single?: readonly number[];
  /** By default, the mutant or the seed decides. */
  readonly store?: 'sqlite' | 'postgres';
  /** By default, true: a history ends with a time without faults. */
  readonly hasRest?: boolean;
}

enableCompileCache();
const [name] = process.argv.slice(2);
const mutant = name === undefined ? undefined : MUTANTS[name];
replaceModules(mutant);
// All histories of a mutant can find it.
const store = mutant && (mutant.store ?? 'sqlite');
const { runHistory } = await import('./history.ts');
const { clearImmediate, clearTimeout, setImmediate, setTimeout } = await import('./fakes/timers.ts');
await loadAll();
// Product code and the driver `pg` use the global ones.
Object.assign(globalThis, { clearImmediate, clearTimeout, setImmediate, setTimeout });

process.on('disconnect', () => process.exit());
process.on('message', ({ from = Infinity, single = [], ...order }: Order) => {
  void runHistory({ store, ...order, spared: { from, single: new Set(single) } }).then((history) =>
    process.send!(history),
  );
});
