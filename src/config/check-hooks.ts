/** Checks of hooks that no schema can make: unknown accounts, unreachable hooks. */
import type { Fault } from './source-text.ts';
import { hasCanaries } from './check-canaries.ts';
import { nearest } from '#foundation/domain/suggest.ts';
import { type Place, pathText, placeAt } from './yaml-place.ts';

export function checkHooks(root: Place): Fault[] {
  const hooks = placeAt(root, ['hooks']);
  if (hooks?.entries === undefined) return [];
  const faults: Fault[] = [];
  const add = (keys: readonly PropertyKey[], fault: Pick<Fault, 'message' | 'help' | 'severity'>): void => {
    const place = placeAt(hooks, keys);
    const mark = place?.key ?? place;
    if (mark !== undefined)
      faults.push({ start: mark.start, end: mark.end, path: pathText(['hooks', ...keys]), ...fault });
  };
  const accounts = accountNames(root);
  const addUnknown = (keys: readonly PropertyKey[], name: string): void => {
    if (accounts === undefined || accounts.includes(name)) return;
    const meant = nearest(name, accounts);
    const help = meant === undefined ? `the accounts are ${accounts.join(', ')}` : `did you mean ${meant}?`;
    add(keys, { message: 'unknown account', help });
  };
  for (const name of placeAt(hooks, ['callbacks'])?.entries?.keys() ?? []) addUnknown(['callbacks', name], name);
  for (const [name, hook] of placeAt(hooks, ['alertmanager'])?.entries ?? []) {
    for (const [index, { value }] of (placeAt(hook, ['withoutAccount'])?.items ?? []).entries()) {
      if (typeof value === 'string') addUnknown(['alertmanager', name, 'withoutAccount', index], value);
    }
  }
  const kinds = ['alertmanager', 'callbacks'].filter((kind) => (placeAt(hooks, [kind])?.entries?.size ?? 0) > 0);
  if (!hooks.entries.has('listen')) {
    const help = 'add hooks.listen, such as :10778';
    for (const kind of kinds) {
      add([kind], { message: 'not used: the hooks have no address', help, severity: 'warning' });
    }
  } else if (kinds.length === 0 && !hasCanaries(root)) {
    const help = 'add hooks.alertmanager, hooks.callbacks or canaries, or remove it';
    add(['listen'], { message: 'not used: no hook is configured', help, severity: 'warning' });
  }
  return faults;
}

/** Undefined if a name is unknown. */
function accountNames(root: Place): string[] | undefined {
  const names = (placeAt(root, ['accounts'])?.items ?? []).map((account) => placeAt(account, ['name']));
  if (names.some((name) => typeof name?.value !== 'string' || name.spoilt)) return undefined;
  return names.map((name) => String(name?.value));
}
