/** Store of the daemon: an SQLite file of this process, or a PostgreSQL database that several replicas share. */
import type { Config } from '#config/config.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { AuditHead } from '#automate/ledger/audit-log.ts';
import type { AuditReader } from '#automate/ledger/audit-reading.ts';
import type { AuditCounts } from '#automate/ledger/counted-audit.ts';
import type { CanaryRelay } from '#observe/canary/relay.ts';
import type { BackupFolder } from '#storage/backup-folder.ts';
import type { Database } from '#storage/database.ts';
import type { RowScope } from '#storage/scope.ts';
import type { SqliteLedger } from '#storage/sqlite-ledger.ts';
import type { DirectOptions } from './options.ts';
import type { Peers } from './peers.ts';
import type { Replica } from './replica.ts';
import type { Stores } from './stores.ts';

/** Store of the process. */
export interface Storage {
  readonly database: Database;
  readonly ledger: SqliteLedger;
  readonly auditReader: AuditReader;
  /** Returns the last record of the audit log that this process has seen. */
  readonly auditHead: () => AuditHead | undefined;
  /** Returns the records and failures of this process. */
  readonly auditCounts: () => AuditCounts;
  /** True if the store existed before this process. */
  readonly restored: boolean;
  /** Returns why the store cannot be used now. */
  problem(): string | undefined;
  /** Returns when counters were last committed, in epoch milliseconds. */
  readonly savedAt: () => number | undefined;
  /** Path of the SQLite file; absent with PostgreSQL. */
  readonly path?: string;
  /** Writes a verified copy of the SQLite file. Rejects with PostgreSQL. */
  copy(file: string): Promise<{ readonly bytes: number }>;
  /** Scheduled copies, if they are configured. */
  readonly backups?: { readonly every: number; readonly folder: BackupFolder };
  /** This process among those that share the store; absent with SQLite. */
  readonly replica?: Replica;
  /** Requests to canaries of other replicas; absent with SQLite. */
  readonly canaryRelay?: CanaryRelay;
  /** The other replicas; absent with SQLite. */
  readonly peers?: Peers;
  /** Opens the stores of a generation. */
  stores(): Promise<Stores>;
  /** Rows that the present generation works on. */
  readonly scope: () => RowScope;
  /** Checks that a daemon with this configuration can use its store. Rejects with a message for the operator. */
  check(next: Config): Promise<void>;
}

export interface StorageDeps {
  readonly clock: Clock;
  readonly events: EventBus;
  readonly direct: DirectOptions | undefined;
}
