/** Checks of accounts that no schema can make: duplicate names, keys without effect. */
import type { Fault, SourceText } from './source-text.ts';
import { faultAt, itemsAt, type Place, placeAt, textAt } from './yaml-place.ts';

export function checkAccounts(root: Place, source: SourceText): Fault[] {
  const faults: Fault[] = [];
  const seen = new Map<string, Place>();
  for (const account of itemsAt(root, 'accounts')) {
    const name = textAt(account, 'name');
    const first = name && seen.get(name.value);
    if (name !== undefined && first === undefined) seen.set(name.value, name);
    if (name !== undefined && first !== undefined) {
      const which = name.expansion === undefined ? `named ${name.value}` : 'of this name';
      const message = `another account is ${which}, at line ${source.position(first.start).line}`;
      faults.push(faultAt(name, { message, help: 'rename one of the accounts' }));
    }
    faults.push(...idleKeys(account));
  }
  return faults;
}

/** Keys that nothing uses. */
function idleKeys(account: Place): Fault[] {
  const faults: Fault[] = [];
  const warn = (keys: readonly string[], message: string, help: string): void => {
    const place = placeAt(account, keys);
    if (place === undefined || place.items?.length === 0) return;
    faults.push(faultAt(place, { message, help, severity: 'warning' }));
  };
  for (const api of [[], ['messageApi']]) {
    if (placeAt(account, [...api, 'url'])?.value !== 'embedded') continue;
    for (const key of ['token', 'tokenFile', 'actionToken', 'actionTokenFile']) {
      warn([...api, key], 'not used: the embedded service creates its own token', 'remove it');
    }
  }
  const known = account.entries;
  if (known?.has('managementApi') === false) {
    for (const key of ['searchIndexes', 'vectorIndexes']) {
      warn([key], 'not watched: indexes are read through the management API', 'add managementApi to this account');
    }
  }
  if (known !== undefined && !hasMessageApi(account)) {
    const message = 'not watched: flow control is read through the message API';
    warn(['flowControlKeys'], message, 'add messageApi to this account');
  }
  return faults;
}

/** Returns true if an account has the message API, in either form. */
export function hasMessageApi({ entries }: Place): boolean {
  return entries?.has('messageApi') === true || entries?.has('url') === true;
}
