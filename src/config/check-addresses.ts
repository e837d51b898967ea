/** Checks of an account's addresses: credentials must not be sent in plain text, and each must fit into one header. */
import { isIP } from 'node:net';
import { isLoopback, isPrivateAddress } from '#foundation/platform/private-address.ts';
import type { Fault } from './source-text.ts';
import { type Place, pathText, placeAt } from './yaml-place.ts';

/** Keys of the URL of each API and of its credentials in an account. */
const APIS = [
  { keys: [], secrets: ['token', 'actionToken'] },
  { keys: ['messageApi'], secrets: ['token', 'actionToken'] },
  { keys: ['managementApi'], secrets: ['password'] },
] as const;

export function checkAddresses(root: Place): Fault[] {
  return (placeAt(root, ['accounts'])?.items ?? []).flatMap((account, index) =>
    APIS.flatMap(({ keys, secrets }) => [
      ...urlFaults(placeAt(account, [...keys, 'url']), ['accounts', index, ...keys, 'url']),
      ...secrets.flatMap((name) =>
        secretFaults(placeAt(account, [...keys, name]), ['accounts', index, ...keys, name], name),
      ),
    ]),
  );
}

/** Returns the reason why a credential cannot be sent, without the credential; undefined if it can. */
export function credentialFault(name: string, value: string): string | undefined {
  if (/[\r\n]/.test(value)) return 'several lines instead of one credential';
  const isSendable = name === 'password' ? !/\p{Cc}/u.test(value) : /^[\x21-\x7e]*$/.test(value);
  return isSendable ? undefined : 'a space or another character that is not allowed in a header';
}

function secretFaults(place: Place | undefined, path: readonly PropertyKey[], name: string): Fault[] {
  if (typeof place?.value !== 'string' || place.spoilt) return [];
  const fault = credentialFault(name, place.value);
  return fault === undefined ? [] : [{ ...at(place, path), message: fault, help: `write one ${name}, without spaces` }];
}

function urlFaults(place: Place | undefined, path: readonly PropertyKey[]): Fault[] {
  const url = typeof place?.value === 'string' && !place.spoilt ? URL.parse(place.value) : null;
  // Another check reports other schemes.
  if (place === undefined || url === null || !/^https?:$/.test(url.protocol)) return [];
  const marked = at(place, path);
  const faults: Fault[] = [];
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    // In a private network, a mesh may encrypt the traffic.
    const severity = isPrivate(url.hostname) ? 'warning' : 'error';
    const message = 'the credential would be sent in plain text, readable in the network';
    faults.push({ ...marked, message, help: 'write https://', severity });
  }
  if (/\/v2(?:\/|$)/.test(url.pathname)) {
    faults.push({ ...marked, message: 'a base URL must end before /v2', help: 'remove /v2 and what follows it' });
  } else if (/[^/]/.test(url.pathname)) {
    const message = 'the base URL has a path, which is added to every request';
    faults.push({ ...marked, message, help: 'remove the path, unless a gateway requires it', severity: 'warning' });
  }
  return faults;
}

const PRIVATE_NAME = /^(?:[^.]+|.+\.(?:localhost|local|svc|internal|home\.arpa))$/;

/** Returns true for hosts that only exist in a private network. */
function isPrivate(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '');
  return isIP(address) === 0 ? PRIVATE_NAME.test(host) : isPrivateAddress(address);
}

function at(place: Place, path: readonly PropertyKey[]): { start: number; end: number; path: string } {
  return { start: place.start, end: place.end, path: pathText(path) };
}
