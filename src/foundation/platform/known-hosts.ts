/**
 * Distinguishes the intended host names of a server from all others. A page of another site can point its own name at
 * this machine (DNS rebinding), and would then have the same origin as the server.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';

/** Names that cannot be registered: names of this machine and of its network. */
const PRIVATE_NAME = /^(?:[^.]+|(?:.+\.)?(?:localhost|svc|cluster\.local|internal|home\.arpa))$/;

/**
 * Returns true for an IP address, a private name, the name of this machine, and each of `names`. A name may start with
 * `*.`, which matches one or more labels. No page has an IP address as its own name, so addresses are safe.
 */
export function isKnownHost(host: string, names: readonly string[]): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  if (isIP(name.replace(/^\[|\]$/g, '')) !== 0 || PRIVATE_NAME.test(name)) return true;
  return [hostname(), ...names].some((known) => {
    const one = known.toLowerCase().replace(/\.$/, '');
    return one.startsWith('*.') ? name.endsWith(one.slice(1)) && name.length > one.length - 1 : name === one;
  });
}

/** Returns the host of a request without its port; undefined without a Host header. @throws {HostError} */
export function requestHost({ rawHeaders, url = '' }: IncomingMessage): string | undefined {
  const given = rawHeaders.filter(
    (_value, index) => index % 2 === 1 && rawHeaders[index - 1]!.toLowerCase() === 'host',
  );
  if (given.length > 1) throw new HostError('The request has several Host headers; send one.');
  // A target that contains a host overrides the header.
  const authority = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1] ?? given[0];
  if (authority === undefined || authority === '') return undefined;
  const parsed = /^(\[[\da-f:.]+\]|[\w.-]{1,253})(?::\d{0,5})?$/i.exec(authority);
  if (parsed === null) throw new HostError('The Host header is not a host with or without a port.');
  return parsed[1];
}

/** Error for a request whose host is unclear. */
export class HostError extends Error {
  override readonly name = 'HostError';
}
