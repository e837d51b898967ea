/** Audit log that a command reads, without a daemon. */
import { existsSync } from 'node:fs';
import type { AuditReader } from '#automate/ledger/audit-reading.ts';
import type { PostgresSettings } from '#storage/settings.ts';
import { socketPathOf, storeOfSocket } from '#foundation/platform/socket-path.ts';
import { CommandError, textOption, UsageError, type Call } from '../command.ts';
import { configPath, readConfig } from '../config-file.ts';
import { request } from '../daemon-request.ts';
import { commandOf } from '../daemon-option.ts';

export interface AuditSource {
  readonly log: AuditReader;
  /** Socket of a daemon that may write to it; absent if only the log was named. */
  readonly socketPath?: string;
}

/** @returns undefined if the configuration is invalid, which was reported on stderr */
export async function findAudit(call: Call): Promise<AuditSource | undefined> {
  const { values } = call;
  const { auditFiles } = await import('#storage/audit-file.ts');
  const given = textOption(values, 'file');
  const socket = textOption(values, 'socket');
  if (given !== undefined) {
    return { log: auditFiles(given, async () => undefined), ...(socket !== undefined && { socketPath: socket }) };
  }
  const store = await findStore(call);
  if (store === undefined) return undefined;
  if (store instanceof Object) return store;
  const { auditPathOf } = await import('#automate/ledger/audit-reader.ts');
  const log = auditFiles(auditPathOf(store), async () => {
    const { backupHead } = await import('#storage/backup.ts');
    return backupHead(store);
  });
  return { log, socketPath: socket ?? socketPathOf(store) };
}

/**
 * Path of the store, or the audit log of the database. A named socket identifies the store; a configuration in the
 * current folder does not override it.
 */
async function findStore({ io, values, parts }: Call): Promise<string | AuditSource | undefined> {
  const socket = textOption(values, 'socket');
  let path = configPath(values, io.env);
  if (socket !== undefined && textOption(values, 'config') === undefined) {
    const store = storeOfSocket(socket);
    if (store === undefined) {
      throw new UsageError(`${socket} does not end with .sock, so its store is unknown; add --config or --file`);
    }
    if (existsSync(store)) return store;
    // The store of this daemon is a database, which its configuration names.
    const daemon = { socketPath: socket, signal: io.signal, command: commandOf({ io, values }) };
    const { files } = await request(daemon, 'GET /api/v1/configuration', {}, 'files');
    path = files[0] ?? path;
  }
  const config = await readConfig(io, path, { secrets: false });
  if (config === undefined) return storeOfInvalid(path, io);
  const { localPath, storage } = config;
  if (storage.postgres === undefined) return localPath;
  return { log: await openAuditTable(storage.postgres, { io, parts }), socketPath: socket ?? socketPathOf(localPath) };
}

/** Path of the store of an invalid configuration, which was reported: its audit log must stay readable. */
async function storeOfInvalid(path: string, { env, stderr }: Call['io']): Promise<string | undefined> {
  const { auditPathOf } = await import('#automate/ledger/audit-reader.ts');
  const { storePathOf } = await import('#config/store-path.ts');
  const store = existsSync(path) ? storePathOf(path, env) : undefined;
  if (store !== undefined && existsSync(auditPathOf(store))) {
    stderr.write(`This configuration is invalid; reading the audit log of ${store} anyway.\n`);
    return store;
  }
  stderr.write('  help: name the audit log with --file FILE\n');
  return undefined;
}

async function openAuditTable(
  settings: PostgresSettings,
  { io, parts }: Pick<Call, 'io' | 'parts'>,
): Promise<AuditReader> {
  const { createAuditTableReader } = await import('#storage/postgres/audit-table-reader.ts');
  const { urlOf } = await import('#storage/postgres/connection-uri.ts');
  const { openPostgres } = await import('#storage/postgres/postgres-database.ts');
  const { urlFile } = settings;
  if (urlFile !== undefined && !existsSync(urlFile))
    throw new CommandError(`${urlFile}, the file of storage.postgres.urlFile, does not exist here`);
  const database = openPostgres({ url: urlOf(settings), name: 'opsd audit', poolSize: 2, clock: io.clock });
  parts.use(database);
  return createAuditTableReader(database, `table audit of ${database.place}`);
}

export function unreadableAudit({ place }: Pick<AuditReader, 'place'>, error: NodeJS.ErrnoException): Error {
  if (error.code === undefined) return error;
  const hint =
    error.code === 'ENOENT'
      ? 'the daemon creates it at its start; name another file with --file'
      : 'run the command as the daemon’s user';
  return new CommandError(`${place} cannot be read (${error.code}): ${hint}.`, { cause: error });
}
