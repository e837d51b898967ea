/** The unix socket of a daemon lies beside its store, so that whoever knows the one finds the other. */

/** Returns the path of the socket on which the daemon of a store listens. */
export function socketPathOf(storePath: string): string {
  return `${storePath}.sock`;
}

/** Returns the path of the store of a socket; undefined if no daemon gives its socket such a path. */
export function storeOfSocket(socketPath: string): string | undefined {
  return socketPath.endsWith('.sock') ? socketPath.slice(0, -'.sock'.length) : undefined;
}
