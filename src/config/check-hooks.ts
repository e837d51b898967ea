/** Checks of hooks and canaries that no schema can make: unknown accounts, unreachable hooks. */
import { parseSize } from '#foundation/domain/size.ts';
import { suggestionOr } from '#foundation/domain/suggest.ts';
import { hasMessageApi } from './check-accounts.ts';
import type { Fault } from './source-text.ts';
import { faultAt, faultAtKey, itemsAt, placeAt, type Place, type Words } from './yaml-place.ts';

export function checkHooks(root: Place): Fault[] {
  const hooks = placeAt(root, ['hooks']);
  if (hooks?.entries === undefined) return [];
  const faults: Fault[] = [];
  const accounts = accountNames(root);
  const addUnknown = (place: Place, name: string): void => {
    if (accounts === undefined || accounts.includes(name)) return;
    const help = suggestionOr(`the accounts are ${accounts.join(', ')}`, name, accounts);
    faults.push(faultAtKey(place, { message: 'unknown account', help }));
  };
  for (const [name, hook] of placeAt(hooks, ['callbacks'])?.entries ?? []) addUnknown(hook, name);
  for (const hook of placeAt(hooks, ['alertmanager'])?.entries?.values() ?? []) {
    for (const account of itemsAt(hook, 'withoutAccount')) {
      if (typeof account.value === 'string') addUnknown(account, account.value);
    }
  }
  const kinds = ['alertmanager', 'callbacks', 'deploy']
    .map((kind) => placeAt(hooks, [kind]))
    .filter((kind) => kind?.entries !== undefined && kind.entries.size > 0);
  const listen = placeAt(hooks, ['listen']);
  if (listen === undefined) {
    const words: Words = {
      message: 'not used: the hooks have no address',
      help: 'add hooks.listen, such as :10778',
      severity: 'warning',
    };
    faults.push(...kinds.map((kind) => faultAtKey(kind!, words)));
  } else if (
    kinds.length === 0 &&
    !itemsAt(root, 'accounts').some((account) => itemsAt(account, 'canaries').length > 0)
  ) {
    const help = 'add hooks.alertmanager, hooks.callbacks, hooks.deploy or canaries, or remove it';
    faults.push(faultAtKey(listen, { message: 'not used: no hook is configured', help, severity: 'warning' }));
  }
  return faults;
}

/** Undefined if a name is unknown. */
function accountNames(root: Place): string[] | undefined {
  const names = itemsAt(root, 'accounts').map((account) => placeAt(account, ['name']));
  if (names.some((name) => typeof name?.value !== 'string' || name.spoilt)) return undefined;
  return names.map((name) => String(name?.value));
}

/** Size of a callback as a multiple of its body: base64, and everything else. */
const BASE64_AND_REST = 1.5;
/** Default of `maxBodyBytes`. */
const MAX_CALLBACK_BYTES = 4_194_304;

/** Settings of bodies that have no effect, or store them in clear. */
export function checkBodies(root: Place): Fault[] {
  return itemsAt(root, 'accounts').flatMap((account) => {
    const bodies = placeAt(account, ['deadLetters', 'bodies']);
    if (bodies?.entries === undefined) return [];
    const faults: Fault[] = [];
    const warn = (message: string, help: string): void =>
      void faults.push(faultAtKey(bodies, { message, help, severity: 'warning' }));
    if (!bodies.entries.has('keyFile')) {
      const help = 'set keyFile to a file with the output of: openssl rand -hex 32';
      warn('bodies and headers of messages are stored in clear', help);
    }
    const name = placeAt(account, ['name'])?.value;
    if (typeof name !== 'string') return faults;
    const callbacks = placeAt(root, ['hooks', 'callbacks', name]);
    if (callbacks === undefined) {
      warn('no effect: bodies arrive with failure callbacks', `add hooks.callbacks.${name}`);
      return faults;
    }
    const carried = Math.ceil((parseSize(String(placeAt(bodies, ['maxBytes'])?.value)) ?? 0) * BASE64_AND_REST);
    const limit = placeAt(callbacks, ['maxBodyBytes'])?.value;
    if (carried > (typeof limit === 'number' ? limit : MAX_CALLBACK_BYTES)) {
      const help = `set hooks.callbacks.${name}.maxBodyBytes to at least ${carried}, or a lower maxBytes`;
      warn('callbacks with bodies of maxBytes are rejected, and their dead letters are not known', help);
    }
    return faults;
  });
}

/** The service must be able to reach the hooks listener with its deliveries of canaries. */
export function checkCanaries(root: Place): Fault[] {
  return itemsAt(root, 'accounts').flatMap((account) => {
    const canaries = placeAt(account, ['canaries']);
    if (canaries?.items === undefined || canaries.items.length === 0) return [];
    return canaryLacks(root, account).map((lack) => faultAt(canaries, lack));
  });
}

function canaryLacks(root: Place, account: Place): Words[] {
  const lacks: Words[] = [];
  if (placeAt(root, ['hooks', 'listen']) === undefined) {
    lacks.push({ message: 'canaries need the hooks listener', help: 'set hooks.listen, such as :10778' });
  }
  if (placeAt(root, ['hooks', 'publicUrl']) === undefined) {
    lacks.push({
      message: 'canaries need the address under which the service reaches the hooks listener',
      help: 'set hooks.publicUrl, such as https://hooks.example.com',
    });
  }
  if (!hasMessageApi(account)) {
    lacks.push({ message: 'canaries need the message API', help: 'add messageApi to this account' });
  }
  return lacks;
}
