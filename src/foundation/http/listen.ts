/** Opens a TCP address. Errors name the address, the reason, and the fix. */
import { once } from 'node:events';
import net, { type AddressInfo, type Server } from 'node:net';
import type { ListenAddress } from '../settings/listen-address.ts';

export class ListenError extends Error {
  override readonly name = 'ListenError';
  /** Code of the system, such as EADDRINUSE. */
  readonly code: string | undefined;

  constructor(message: string, cause?: NodeJS.ErrnoException) {
    super(message, { cause });
    this.code = cause?.code;
  }
}

interface TcpOptions {
  /** Configuration key, for errors; none when absent. */
  readonly setting?: string | undefined;
  readonly scheme?: 'http' | 'https';
}

/** @returns `http://HOST:PORT`; for a wildcard address, the loopback address of this machine */
export async function listenTcp(server: Server, listen: ListenAddress, options: TcpOptions = {}): Promise<string> {
  const { setting, scheme = 'http' } = options;
  try {
    const place = placeOf(listen);
    await listening(server, () => server.listen(place));
  } catch (error) {
    throw explainTcp(error as NodeJS.ErrnoException, listen, setting);
  }
  const { port } = server.address() as AddressInfo;
  return `${scheme}://${formatHost(reachableHost(listen.host))}:${port}`;
}

/** Since Node 24.19. */
const { BoundSocket } = net as Partial<typeof net>;

/** @throws {Error} of the system */
function placeOf({ host, port }: ListenAddress): net.BoundSocket | net.ListenOptions {
  // Without a host, Node listens on all IPv6 and IPv4 addresses, or on IPv4 only if the machine has no IPv6.
  if (host === '::') return { port };
  // Of a host, Node looks up the address, and compiles a pattern of IPv6 addresses: 5 ms of each start.
  return BoundSocket !== undefined && net.isIPv4(host) ? new BoundSocket({ host, port }) : { host, port };
}

function reachableHost(host: string): string {
  return host === '::' || host === '0.0.0.0' ? '127.0.0.1' : host;
}

function formatHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function explainTcp(error: NodeJS.ErrnoException, listen: ListenAddress, setting: string | undefined): ListenError {
  const other = `change the address${setting === undefined ? '' : ` in ${setting}`}`;
  const why = (): string => {
    switch (error.code ?? '') {
      case 'EADDRINUSE':
        return `another program uses it. Stop that program, or ${other}; port 0 selects any free port.`;
      case 'EACCES':
        return `permission denied. Ports below 1024 need a privilege: ${other}; port 0 selects any free port.`;
      case 'EADDRNOTAVAIL':
        return `this machine has no such address. To fix it, ${other}; port 0 selects any free port.`;
      case 'ENOTFOUND':
      case 'EAI_AGAIN':
        return `the host name does not resolve. To fix it, ${other}; port 0 selects any free port.`;
      default:
        return error.message;
    }
  };
  return new ListenError(`cannot listen on ${formatHost(listen.host)}:${listen.port}: ${why()}`, error);
}

/** Calls `listen`, and resolves when the server listens. */
export async function listening(server: Server, listen: () => void): Promise<void> {
  const begun = once(server, 'listening');
  listen();
  await begun;
}
