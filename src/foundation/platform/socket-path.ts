/** The Unix socket of a daemon is beside its store, so that each can be found from the other. */

/** Path of the store if the configuration has none, relative to the configuration. */
export const DEFAULT_STORE_PATH = './data/opsd.db';

/** Returns the path of the socket of a store's daemon. */
export function socketPathOf(storePath: string): string {
  return `${storePath}.sock`;
}

/** Returns the path of the store of a socket; undefined if the path is not that of a daemon's socket. */
export function storeOfSocket(socketPath: string): string | undefined {
  return socketPath.endsWith('.sock') ? socketPath.slice(0, -'.sock'.length) : undefined;
}

/** Header with the Unix user of a command that uses the daemon's socket. Remote callers have their own names. */
export const LOCAL_USER_HEADER = 'opsd-local-user';
