/**
 * Detects private destinations, which a hosted service cannot reach. It checks addresses in URLs, and the addresses of
 * a name at the time of the connection.
 */
import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

const RANGES: readonly (readonly [kind: string, address: string, prefix: number])[] = [
  ['loopback', '127.0.0.0', 8],
  ['loopback', '::1', 128],
  // Connections to the unspecified address reach this machine.
  ['loopback', '0.0.0.0', 8],
  ['loopback', '::', 128],
  ['link-local', '169.254.0.0', 16],
  ['link-local', 'fe80::', 10],
  ['private', '10.0.0.0', 8],
  ['private', '172.16.0.0', 12],
  ['private', '192.168.0.0', 16],
  ['private', 'fc00::', 7],
  ['private', 'fec0::', 10],
  // Networks of carriers, protocols and benchmarks.
  ['reserved', '100.64.0.0', 10],
  ['reserved', '192.0.0.0', 24],
  ['reserved', '198.18.0.0', 15],
  ['reserved', '192.88.99.0', 24],
  // Documentation.
  ['reserved', '192.0.2.0', 24],
  ['reserved', '198.51.100.0', 24],
  ['reserved', '203.0.113.0', 24],
  ['reserved', '2001:db8::', 32],
  ['reserved', '3fff::', 20],
  // Multicast, future use, and broadcast.
  ['reserved', '224.0.0.0', 3],
  ['reserved', 'ff00::', 8],
  ['reserved', '100::', 64],
  // Addresses that contain an IPv4 address and lead to a translator's choice: NAT64, 6to4, Teredo, SIIT, and the
  // deprecated form. IPv4 within ::ffff:0:0/96 is checked as IPv4.
  ['translated', '64:ff9b::', 96],
  ['translated', '64:ff9b:1::', 48],
  ['translated', '2002::', 16],
  ['translated', '2001::', 32],
  ['translated', '::ffff:0:0:0', 96],
  ['translated', '::', 96],
];

let lists: readonly { readonly kind: string; readonly list: BlockList }[] | undefined;

/** Created at its first use: few services check addresses, and Node compiles a pattern for IPv6, 5 ms. */
function privateLists() {
  return (lists ??= RANGES.map(([kind, address, prefix]) => {
    const list = new BlockList();
    list.addSubnet(address, prefix, familyOf(address));
    return { kind, list };
  }));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

/** Returns the type of an address's range; undefined for a public address. A zone is not part of the address. */
export function privateKindOf(address: string): string | undefined {
  const [plain = ''] = address.split('%', 1);
  return privateLists().find(({ list }) => list.check(plain, familyOf(plain)))?.kind;
}

/**
 * Returns the type of a URL's host if it is an address, or a name of this machine by definition. All other names must
 * be resolved.
 */
export function privateKindOfUrl({ hostname }: URL): string | undefined {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (host === 'localhost' || host.endsWith('.localhost')) return 'loopback';
  return isIP(host) === 0 ? undefined : privateKindOf(host);
}

/** A destination that this service does not deliver to. */
export class PrivateDestinationError extends Error {
  override readonly name = 'PrivateDestinationError';

  constructor(what: string) {
    super(`private destination: ${what}, and this service refuses private destinations`);
  }
}

/**
 * Resolves names to public addresses only. The connection uses exactly these addresses, so a name cannot change between
 * check and use.
 */
export function publicLookup(lookup: LookupFunction = systemLookup): LookupFunction {
  return (hostname, options, done) => {
    lookup(hostname, options, (error, found, family) => {
      if (error !== null) {
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
