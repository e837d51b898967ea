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
}

enableCompileCache();
const [name] = process.argv.slice(2);
replaceModules(name === undefined ? undefined : MUTANTS[name]);
const { runHistory } = await import('./history.ts');
const { clearImmediate, setImmediate } = await import('./fakes/timers.ts');
await loadAll();
// Product code that uses the global ones.
Object.assign(globalThis, { clearImmediate, setImmediate });

process.on('disconnect', () => process.exit());
process.on('message', ({ from = Infinity, single = [], ...order }: Order) => {
  void runHistory({ ...order, spared: { from, single: new Set(single) } }).then((history) => process.send!(history));
});
