/** Opens a unix socket that a dead process may have left behind. Errors name the fix. */
import { chmodSync, existsSync, lstatSync, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { dirname } from 'node:path';
import { ListenError, listening } from '#foundation/http/listen.ts';

/** Maximum path: the kernel's `sun_path` has 108 bytes, including the terminator. */
const MAX_SOCKET_PATH_BYTES = 107;
/** The socket is beside the store. With PostgreSQL, only the variable moves it. */
const ELSEWHERE = 'set another path in storage.sqlite.path or OPSD_STORE';

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
  return new ListenError(`cannot listen on ${path}: ${why}`, error as NodeJS.ErrnoException);
}
