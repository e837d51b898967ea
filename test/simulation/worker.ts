/** A process that runs histories, with the modules of the simulation, and a mutant if one is named. */
import { enableCompileCache } from 'node:module';
import type { HistoryOptions } from './history.ts';
import { loadAll, replaceModules } from './hooks.ts';
import { MUTANTS } from './mutants.ts';

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
process.on('message', (options: HistoryOptions) => {
  void runHistory({ store, ...options }).then((history) => process.send!(history));
});
