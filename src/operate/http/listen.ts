/**
 * Opening of an address: a TCP port, or a unix socket that a dead process may have left behind. Errors name the fix.
 */
import { chmodSync, existsSync, lstatSync, unlinkSync } from 'node:fs';
import { connect, type AddressInfo, type Server } from 'node:net';
import { dirname } from 'node:path';
import type { ListenAddress } from '#foundation/platform/settings.ts';

/** Maximum path: the kernel's `sun_path` has 108 bytes, including the terminator. */
const MAX_SOCKET_PATH_BYTES = 107;
/** The socket is beside the store. With PostgreSQL, only the variable moves it. */
const ELSEWHERE = 'set another path in storage.sqlite.path or OPSD_STORE';

export class ListenError extends Error {
  override readonly name = 'ListenError';
}

interface TcpOptions {
  /** Configuration key, for errors. */
  readonly setting?: string;
  readonly scheme?: 'http' | 'https';
}

/** @returns `http://HOST:PORT`; for a wildcard address, the loopback address of this machine */
export async function listenTcp(server: Server, listen: ListenAddress, options: TcpOptions = {}): Promise<string> {
  const { setting = 'server.listen', scheme = 'http' } = options;
  // Without a host, Node listens on all IPv6 and IPv4 addresses, or on IPv4 only if the machine has no IPv6.
  const host = listen.host === '::' ? undefined : listen.host;
  try {
    await listening(server, () => server.listen({ port: listen.port, ...(host !== undefined && { host }) }));
  } catch (error) {
    throw new ListenError(explainTcp(error as NodeJS.ErrnoException, listen, setting), { cause: error });
  }
  const { port } = server.address() as AddressInfo;
  return `${scheme}://${formatHost(reachableHost(listen.host))}:${port}`;
}

function reachableHost(host: string): string {
  return host === '::' || host === '0.0.0.0' ? '127.0.0.1' : host;
}

function formatHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function explainTcp(error: NodeJS.ErrnoException, listen: ListenAddress, setting: string): string {
  const address = `${formatHost(listen.host)}:${listen.port}`;
  const other = `change the address in ${setting}; port 0 selects any free port`;
  switch (error.code ?? '') {
    case 'EADDRINUSE':
      return `cannot listen on ${address}: another program uses it. Stop that program, or ${other}.`;
    case 'EACCES':
      return `cannot listen on ${address}: permission denied. Ports below 1024 need a privilege: ${other}.`;
    case 'EADDRNOTAVAIL':
      return `cannot listen on ${address}: this machine has no such address. To fix it, ${other}.`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `cannot listen on ${address}: the host name does not resolve. To fix it, ${other}.`;
    default:
      return `cannot listen on ${address}: ${error.message}`;
  }
}

/**
 * Listens on a unix socket that only this user may connect to. It replaces the socket of a dead process, but not one
 * that responds. The file is removed when the server closes.
 */
export async function listenUnix(server: Server, path: string): Promise<string> {
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_SOCKET_PATH_BYTES) {
    const why = `its path has ${bytes} bytes, but the maximum for a unix socket is ${MAX_SOCKET_PATH_BYTES}`;
    throw new ListenError(`cannot listen on ${path}: ${why}. Choose a shorter storage.sqlite.path.`);
  }
  try {
    await bindPrivately(server, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw explainUnix(error, path);
    await removeDeadSocket(path);
    try {
      await bindPrivately(server, path);
    } catch (second) {
      throw explainUnix(second, path);
    }
  }
  return path;
}

/** Binds with the right mode from the start: the umask is set while the file is created, which is synchronous. */
async function bindPrivately(server: Server, path: string): Promise<void> {
  await listening(server, () => {
    const before = narrowUmask();
    try {
      server.listen({ path });
    } finally {
      if (before !== undefined) process.umask(before);
    }
  });
  chmodSync(path, 0o600);
}

/** Sets the umask. Worker threads must not do so; there the file becomes private one call later. */
function narrowUmask(): number | undefined {
  try {
    return process.umask(0o177);
  } catch {
    return undefined;
  }
}

async function removeDeadSocket(path: string): Promise<void> {
  if (!lstatSync(path).isSocket()) {
    throw new ListenError(
      `cannot listen on ${path}: the path is a file that is not a socket. Move it, or ${ELSEWHERE}.`,
    );
  }
  if (await answers(path)) {
    throw new ListenError(`cannot listen on ${path}: another daemon listens there. Stop it, or ${ELSEWHERE}.`);
  }
  unlinkSync(path);
}

/** Returns true if a process accepts connections on the socket, or if that is unknown. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'ECONNREFUSED'));
  });
}

function explainUnix(error: unknown, path: string): ListenError {
  const { code, message } = error as NodeJS.ErrnoException;
  const isForbidden = code === 'EACCES' || code === 'EPERM' || code === 'EROFS';
  let why = message;
  // Checked first: a missing folder is also reported as EACCES.
  if (!existsSync(dirname(path))) why = `its folder does not exist. Create it, or ${ELSEWHERE}.`;
  else if (isForbidden) why = `this user cannot write to the folder. Change its permissions, or ${ELSEWHERE}.`;
  return new ListenError(`cannot listen on ${path}: ${why}`, { cause: error });
}

function listening(server: Server, listen: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error): void => {
      server.off('listening', onListening);
      reject(error);
    };
    const onListening = (): void => {
      server.off('error', onError);
      resolve();
    };
    server.once('error', onError);
    server.once('listening', onListening);
    listen();
  });
}
