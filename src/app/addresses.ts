/** Addresses of the daemon, before it listens there. */
import { createServer } from 'node:net';
import type { Config } from '#config/config.ts';
import type { ListenAddress } from '#foundation/settings/listen-address.ts';
import { listenTcp } from '#foundation/http/listen.ts';

/**
 * Opens and closes the addresses of a configuration, except those with own ports.
 *
 * @throws {ListenError} with the address, the reason, and the fix
 */
export async function tryAddresses({ server, hooks }: Config, ownPorts: readonly number[] = []): Promise<void> {
  const wanted = [
    { listen: server.listen, setting: 'server.listen' },
    { listen: hooks.listen, setting: 'hooks.listen' },
    { listen: server.probes.listen, setting: 'server.probes.listen' },
  ];
  for (const { listen, setting } of wanted) {
    if (listen !== undefined && listen.port !== 0 && !ownPorts.includes(listen.port)) await tryAddress(listen, setting);
  }
}

/** Port of an address. URLs omit the default port of their scheme. */
export function portOf(address: string): number {
  const { port, protocol } = new URL(address);
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}

async function tryAddress(listen: ListenAddress, setting: string): Promise<void> {
  const server = createServer();
  await listenTcp(server, listen, { setting });
  await new Promise((resolve) => server.close(resolve));
}
