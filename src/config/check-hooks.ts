/** What no schema can see of hooks: accounts that are not there, hooks that nobody can reach. */
import type { Fault } from './source-text.ts';
import { nearest } from './suggest.ts';
import { type Place, pathText, placeAt } from './yaml-place.ts';

export function checkHooks(root: Place): Fault[] {
  const hooks = placeAt(root, ['hooks']);
  if (hooks?.entries === undefined) return [];
  const faults: Fault[] = [];
  const add = (keys: readonly string[], fault: Pick<Fault, 'message' | 'help' | 'severity'>): void => {
    const mark = placeAt(hooks, keys)?.key;
    if (mark !== undefined)
      faults.push({ start: mark.start, end: mark.end, path: pathText(['hooks', ...keys]), ...fault });
  };
  const accounts = accountNames(root);
  for (const name of placeAt(hooks, ['callbacks'])?.entries?.keys() ?? []) {
    if (accounts === undefined || accounts.includes(name)) continue;
    const meant = nearest(name, accounts);
    const help = meant === undefined ? `the accounts are ${accounts.join(', ')}` : `did you mean ${meant}?`;
    add(['callbacks', name], { message: 'there is no account of this name', help });
  }
  const kinds = ['alertmanager', 'callbacks'].filter((kind) => (placeAt(hooks, [kind])?.entries?.size ?? 0) > 0);
  if (!hooks.entries.has('listen')) {
    const help = 'add hooks.listen, such as :10778';
    for (const kind of kinds) {
      add([kind], { message: 'not used: the hooks listen nowhere', help, severity: 'warning' });
    }
  } else if (kinds.length === 0) {
    const help = 'add hooks.alertmanager or hooks.callbacks, or remove it';
    add(['listen'], { message: 'not used: there is no hook', help, severity: 'warning' });
  }
  return faults;
}

/** Undefined where a name cannot be told. */
function accountNames(root: Place): string[] | undefined {
  const names = (placeAt(root, ['accounts'])?.items ?? []).map((account) => placeAt(account, ['name']));
  if (names.some((name) => typeof name?.value !== 'string' || name.spoilt)) return undefined;
  return names.map((name) => String(name?.value));
}
