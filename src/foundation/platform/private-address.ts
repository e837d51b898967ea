/** Addresses of this machine and of private networks. */
import { lookup } from 'node:dns/promises';
import { BlockList, isIPv4, isIPv6 } from 'node:net';

const RANGES = [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
  ['::1', 128],
  ['fc00::', 7],
  ['fe80::', 10],
] as const;

let ranges: BlockList | undefined;

/** Created at its first use: most URLs have a name. */
function privateRanges(): BlockList {
  if (ranges !== undefined) return ranges;
  ranges = new BlockList();
  for (const [net, bits] of RANGES) ranges.addSubnet(net, bits, isIPv4(net) ? 'ipv4' : 'ipv6');
  return ranges;
}

/** Returns true for an IP address of this machine or of a private network. */
export function isPrivateAddress(address: string): boolean {
  if (isIPv4(address)) return privateRanges().check(address, 'ipv4');
  return isIPv6(address) && privateRanges().check(address, 'ipv6');
}

/** Returns true if the host of a URL has an address of this machine or of a private network, or none. Never rejects. */
export async function leadsToPrivate(url: string): Promise<boolean> {
  const host = URL.parse(url)?.hostname.replace(/^\[|\]$/g, '') ?? '';
  if (host === '') return true;
  try {
    return (await lookup(host, { all: true })).some(({ address }) => isPrivateAddress(address));
  } catch {
    return true;
  }
}

/** Returns true for names and addresses of this machine. @param host as in `URL.hostname`, or an IPv6 address without brackets */
export function isLoopback(host: string): boolean {
  return /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|::1|\[::1\])$/.test(host);
}
