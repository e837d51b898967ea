/** Direct mode: a command without a running daemon starts one for itself. */
import { connect } from 'node:net';
import type { Config } from '#config/config.ts';
import { CommandError, type Call, type DirectDaemon, type DirectNeeds } from './command.ts';

interface DirectPlace extends DirectNeeds {
  readonly config: Config;
  readonly socketPath: string;
}

/** @returns undefined if a program listens on the socket */
export async function startDirectly(call: Call, place: DirectPlace): Promise<DirectDaemon | undefined> {
  const { config, socketPath, writes, collectors } = place;
  if (!(await isUnused(socketPath))) return undefined;
  const embedded = config.accounts.find(({ messageApi }) => messageApi?.url === 'embedded');
  if (embedded !== undefined) {
    throw new CommandError(
      `no daemon listens on ${socketPath}, and account ${embedded.name} uses the embedded service, which runs only in a daemon. Start it with \`opsd run\`.`,
    );
  }
  if (writes && config.storage.postgres !== undefined) {
    throw new CommandError(
      `no daemon listens on ${socketPath}, and this command changes the store, which replicas share: run it on the machine of a replica, or name one with --url`,
    );
  }
  const store = writes ? `It holds the store ${config.localPath} until it ends` : 'It stores nothing';
  call.io.stderr.write(
    `No daemon listens on ${socketPath}. This command sends its requests to the service itself. ${store}; no policy runs.\n`,
  );
  return call.parts.use(await call.programs.direct({ config, writes, collectors }));
}

/** Returns true if no program listens on a socket. A socket of another user counts as used. */
function isUnused(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once('connect', () => (socket.destroy(), resolve(false)));
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ENOENT' || code === 'ECONNREFUSED'));
  });
}
