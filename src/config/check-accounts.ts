/** Checks of accounts that no schema can make: duplicate names, keys without effect. */
import type { Fault, SourceText } from './source-text.ts';
import { type Place, pathText, placeAt } from './yaml-place.ts';

export function checkAccounts(root: Place, source: SourceText): Fault[] {
  const faults: Fault[] = [];
  const seen = new Map<string, Place>();
  for (const [index, account] of (placeAt(root, ['accounts'])?.items ?? []).entries()) {
    const path = ['accounts', index] as const;
    const name = placeAt(account, ['name']);
    if (typeof name?.value === 'string' && name.value !== '' && !name.spoilt) {
      const first = seen.get(name.value);
      const which = name.expansion === undefined ? `named ${name.value}` : 'of this name';
      if (first === undefined) seen.set(name.value, name);
      else {
        faults.push({
          ...at(name, [...path, 'name']),
          message: `another account is ${which}, at line ${source.position(first.start).line}`,
          help: 'rename one of the accounts',
        });
      }
    }
    faults.push(...idleKeys(account, path));
  }
  return faults;
}

/** Keys that nothing uses. */
function idleKeys(account: Place, path: readonly PropertyKey[]): Fault[] {
  const faults: Fault[] = [];
  const warn = (keys: readonly string[], message: string, help: string): void => {
    const place = placeAt(account, keys);
    const empty = place?.items !== undefined && place.items.length === 0;
    if (place === undefined || empty) return;
    faults.push({ ...at(place, [...path, ...keys]), message, help, severity: 'warning' });
  };
  for (const api of [[], ['messageApi']]) {
    if (placeAt(account, [...api, 'url'])?.value !== 'embedded') continue;
    for (const key of ['token', 'tokenFile', 'actionToken', 'actionTokenFile']) {
      warn([...api, key], 'not used: the embedded service creates its own token', 'remove it');
    }
  }
  const known = account.entries;
  if (known !== undefined && !known.has('managementApi')) {
    for (const key of ['searchIndexes', 'vectorIndexes']) {
      warn([key], 'not watched: indexes are read through the management API', 'add managementApi to this account');
    }
  }
  if (known !== undefined && !known.has('messageApi') && !known.has('url')) {
    warn(
      ['flowControlKeys'],
      'not watched: flow control is read through the message API',
      'add messageApi to this account',
    );
  }
  return faults;
}

function at(place: Place, path: readonly PropertyKey[]): { start: number; end: number; path: string } {
  const mark = place.entries !== undefined || place.items !== undefined ? (place.key ?? place) : place;
  return { start: mark.start, end: mark.end, path: pathText(path) };
}
