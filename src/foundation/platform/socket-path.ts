/** The Unix socket of a daemon is beside its store, so that each can be found from the other. */

/** Returns the path of the socket of a store's daemon. */
export function socketPathOf(storePath: string): string {
  return `${storePath}.sock`;
}

/** Returns the path of the store of a socket; undefined if the path is not that of a daemon's socket. */
export function storeOfSocket(socketPath: string): string | undefined {
  return socketPath.endsWith('.sock') ? socketPath.slice(0, -'.sock'.length) : undefined;
}
