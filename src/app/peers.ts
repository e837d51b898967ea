/** The other replicas: commands for the accounts that they own, and notices about changes of the ledger. */
import type { Clock } from '#foundation/platform/clock.ts';
import type { Secret } from '#foundation/platform/secret.ts';
import type { Database } from '#storage/database.ts';
import { CommandRequests, type StoredCommand } from '#storage/postgres/command-requests.ts';
import { CommandService } from '#storage/postgres/command-service.ts';
import { createCommandTable } from '#storage/postgres/command-table.ts';
import { noticeConnections } from '#storage/postgres/connections.ts';
import { Notices } from '#storage/postgres/notices.ts';
import type { Replica } from './replica.ts';

/** Maximum time of connecting, and of a response to a check of the connection. */
const TIMEOUT_MS = 5_000;

interface PeersDeps {
  readonly url: Secret;
  /** Name that the server shows for the connection. */
  readonly name: string;
  readonly database: Database;
  readonly clock: Clock;
  readonly replica: Pick<Replica, 'owners'>;
  /** Number of this process among those that have opened the store: its own changes need no notice. */
  readonly epoch: number;
  readonly onFailed: (message: string) => void;
}

export interface Peers extends Disposable {
  readonly requests: Pick<CommandRequests, 'send' | 'post'>;
  /** Calls the listener when another replica may have changed pauses or plans. */
  onLedgerChange(listener: () => void): Disposable;
  /** Replaces the connection of the notices. */
  renew(): void;
  /** Runs the commands of other replicas until disposal. @param handle never rejects */
  serve(handle: (command: StoredCommand, signal: AbortSignal) => Promise<unknown>): AsyncDisposable;
}

/** Connects in the background: without notices, commands take some seconds longer. */
export function connectPeers({ url, name, database, clock, replica, epoch, onFailed }: PeersDeps): Peers {
  const notices = new Notices(noticeConnections({ url, name, timeoutMs: TIMEOUT_MS }), clock);
  const deps = { database, table: createCommandTable(), notices, clock };
  void notices.start();
  return {
    requests: new CommandRequests(deps),
    onLedgerChange: (listener) =>
      notices.listen((notice) => {
        if (notice === undefined || (notice.topic === 'ledger' && notice.key !== String(epoch))) listener();
      }),
    renew: () => notices.renew(),
    serve(handle) {
      const owned = () =>
        new Map([...replica.owners()].flatMap(([account, { epoch, isOwn }]) => (isOwn ? [[account, epoch]] : [])));
      const service = new CommandService({ ...deps, owned, handle, onFailed });
      void service.look();
      return service;
    },
    [Symbol.dispose]: () => notices[Symbol.dispose](),
  };
}
