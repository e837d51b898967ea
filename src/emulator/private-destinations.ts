/**
 * Which destinations are private, and so not reachable from the service of others: by their address as it is written,
 * and by what their name resolves to at the moment of the connection.
 */
import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

const RANGES: readonly (readonly [kind: string, address: string, prefix: number])[] = [
  ['loopback', '127.0.0.0', 8],
  ['loopback', '::1', 128],
  // A connection to no address goes to this machine.
  ['loopback', '0.0.0.0', 8],
  ['loopback', '::', 128],
  ['link-local', '169.254.0.0', 16],
  ['link-local', 'fe80::', 10],
  ['private', '10.0.0.0', 8],
  ['private', '172.16.0.0', 12],
  ['private', '192.168.0.0', 16],
  ['private', 'fc00::', 7],
];

const LISTS = RANGES.map(([kind, address, prefix]) => {
  const list = new BlockList();
  list.addSubnet(address, prefix, familyOf(address));
  return { kind, list };
});

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

/** `loopback`, `link-local` or `private`; undefined for a public address. An IPv4 address within IPv6 is what it holds. */
export function privateKindOf(address: string): string | undefined {
  return LISTS.find(({ list }) => list.check(address, familyOf(address)))?.kind;
}

/** Of a URL whose host is an address, or a name that is this machine by definition; any other name must be resolved. */
export function privateKindOfUrl({ hostname }: URL): string | undefined {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (host === 'localhost' || host.endsWith('.localhost')) return 'loopback';
  return isIP(host) === 0 ? undefined : privateKindOf(host);
}

/** A destination to which this service does not deliver. */
export class PrivateDestinationError extends Error {
  override readonly name = 'PrivateDestinationError';

  constructor(what: string) {
    super(`private destination: ${what}, and this service refuses private destinations`);
  }
}

/**
 * Resolves names to public addresses only, while `refuses` says so. The addresses are those that the connection is
 * made to: a name cannot change its meaning between check and use.
 */
export function publicLookup(refuses: () => boolean, lookup: LookupFunction = systemLookup): LookupFunction {
  return (hostname, options, done) => {
    lookup(hostname, options, (error, found, family) => {
      if (error !== null || !refuses()) {
        done(error, found, family);
        return;
      }
      const all: readonly LookupAddress[] =
        typeof found === 'string' ? [{ address: found, family: family ?? 4 }] : found;
      const open = all.filter(({ address }) => privateKindOf(address) === undefined);
      const [first] = all;
      if (open.length > 0) done(null, typeof found === 'string' ? found : open, family);
      else if (first === undefined) done(error, found, family);
      else {
        const kind = privateKindOf(first.address);
        done(new PrivateDestinationError(`${hostname} is ${first.address} (${kind})`), found, family);
      }
    });
  };
}
