/** Checks of an account's addresses: credentials must not be sent in plain text, and each must fit into one header. */
import { isIP } from 'node:net';
import { isLoopback, isPrivateAddress } from '#foundation/platform/private-address.ts';
import { invalidProxies } from '#foundation/platform/proxies.ts';
import type { Fault } from './source-text.ts';
import { faultAt, itemsAt, type Place, placeAt, textAt } from './yaml-place.ts';

/** Keys of the URL of each API and of its credentials in an account. */
const APIS = [
  { keys: [], secrets: ['token', 'actionToken'] },
  { keys: ['messageApi'], secrets: ['token', 'actionToken'] },
  { keys: ['managementApi'], secrets: ['password'] },
] as const;

export function checkAddresses(root: Place): Fault[] {
  return itemsAt(root, 'accounts').flatMap((account) =>
    APIS.flatMap(({ keys, secrets }) => [
      ...urlFaults(placeAt(account, [...keys, 'url'])),
      ...secrets.flatMap((name) => secretFaults(placeAt(account, [...keys, name]), name)),
    ]),
  );
}

/** Returns the reason why a credential cannot be sent, without the credential; undefined if it can. */
export function credentialFault(name: string, value: string): string | undefined {
  if (/[\r\n]/.test(value)) return 'several lines instead of one credential';
  const isSendable = name === 'password' ? !/\p{Cc}/u.test(value) : /^[\x21-\x7e]*$/.test(value);
  return isSendable ? undefined : 'a space or another character that is not allowed in a header';
}

function secretFaults(place: Place | undefined, name: string): Fault[] {
  const text = textAt(place);
  const message = text && credentialFault(name, text.value);
  return message ? [faultAt(text, { message, help: `write one ${name}, without spaces` })] : [];
}

function urlFaults(written: Place | undefined): Fault[] {
  const place = textAt(written);
  const url = place === undefined ? null : URL.parse(place.value);
  // Another check reports other schemes.
  if (place === undefined || url === null || !/^https?:$/.test(url.protocol)) return [];
  const faults: Fault[] = [];
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    // In a private network, a mesh may encrypt the traffic.
    const severity = isPrivate(url.hostname) ? 'warning' : 'error';
    const message = 'the credential would be sent in plain text, readable in the network';
    faults.push(faultAt(place, { message, help: 'write https://', severity }));
  }
  if (/\/v2(?:\/|$)/.test(url.pathname)) {
    faults.push(faultAt(place, { message: 'a base URL must end before /v2', help: 'remove /v2 and what follows it' }));
  } else if (/[^/]/.test(url.pathname)) {
    const message = 'the base URL has a path, which is added to every request';
    const help = 'remove the path, unless a gateway requires it';
    faults.push(faultAt(place, { message, help, severity: 'warning' }));
  }
  return faults;
}

const PRIVATE_NAME = /^(?:[^.]+|.+\.(?:localhost|local|svc|internal|home\.arpa))$/;

/** Returns true for hosts that only exist in a private network. */
function isPrivate(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '');
  return isIP(address) === 0 ? PRIVATE_NAME.test(host) : isPrivateAddress(address);
}

/** Check of the proxies that the environment names. */
export function checkProxies(env: Readonly<Record<string, string | undefined>>): Fault[] {
  const help = 'write a URL such as http://proxy.example:3128, with a percent-encoded password, or unset the variable';
  return invalidProxies(env).map((name) => {
    return { start: 0, end: 1, path: '', message: `${name}: not the http:// or https:// URL of a proxy`, help };
  });
}
