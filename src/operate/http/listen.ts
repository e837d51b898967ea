/** Taking an address: a TCP port, or a unix socket that a dead process may have left behind. Errors say what to do. */
import { chmodSync, existsSync, lstatSync, unlinkSync } from 'node:fs';
import { connect, type AddressInfo, type Server } from 'node:net';
import { dirname } from 'node:path';
import type { ListenAddress } from '#foundation/platform/settings.ts';

/** The kernel's `sun_path` holds 108 bytes, one of them the end. */
const MAX_SOCKET_PATH_BYTES = 107;

export class ListenError extends Error {
  override readonly name = 'ListenError';
}

interface TcpOptions {
  /** The key of the configuration, for errors. */
  readonly setting?: string;
  readonly scheme?: 'http' | 'https';
}

/**
 * @returns `http://HOST:PORT`; for every address, the loopback one by which this machine reaches it
 */
export async function listenTcp(server: Server, listen: ListenAddress, options: TcpOptions = {}): Promise<string> {
  const { setting = 'server.listen', scheme = 'http' } = options;
  // Without a host, Node listens on every IPv6 and IPv4 address, or on IPv4 alone where the machine has no IPv6.
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
  const other = `give another address in ${setting}; port 0 takes any free port`;
  switch (error.code ?? '') {
    case 'EADDRINUSE':
      return `cannot listen on ${address}: another program uses it. Stop that program, or ${other}.`;
    case 'EACCES':
      return `cannot listen on ${address}: this user may not. Ports below 1024 need a privilege: ${other}.`;
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
 * Listens on a unix socket that only this user may connect to. The socket of a dead process is taken over; one that
 * answers is not. The file goes when the server closes.
 */
export async function listenUnix(server: Server, path: string): Promise<string> {
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_SOCKET_PATH_BYTES) {
    const why = `its path has ${bytes} bytes and a unix socket's may have ${MAX_SOCKET_PATH_BYTES}`;
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

/** The mode is right from the first moment on: the umask holds while the file is made, and it is made at once. */
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

/** Worker threads may not set the umask; there the file is private one call later. */
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
      `cannot listen on ${path}: a file that is no socket is in the way. Move it, or choose another storage.sqlite.path.`,
    );
  }
  if (await answers(path)) {
    throw new ListenError(
      `cannot listen on ${path}: another daemon answers there. Stop it, or give this one another storage.sqlite.path.`,
    );
  }
  unlinkSync(path);
}

/** Whether a process accepts connections on the socket. When it cannot be told, it counts as alive. */
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
  let why = message;
  // Asked first: a missing folder is reported as EACCES too.
  if (!existsSync(dirname(path))) why = 'its folder does not exist. Make it, or choose another storage.sqlite.path.';
  else if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    why = 'this user may not write to the folder. Change its permissions, or choose another storage.sqlite.path.';
  }
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
