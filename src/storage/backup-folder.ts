/**
 * Scheduled backups of the store in a folder. Their names contain store and time. The oldest is removed after a new one
 * is complete.
 */
import { readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { makeFolder } from '#foundation/platform/make-folder.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Copies } from './backup.ts';
import type { StorageSettings } from './settings.ts';
import { StoreError } from './store-error.ts';
import type { Store } from './sqlite.ts';

export type BackupSettings = NonNullable<StorageSettings['backup']>;

interface KeptBackup {
  readonly file: string;
  /** Start of the backup, in epoch milliseconds. */
  readonly at: number;
  readonly bytes: number;
}

export interface BackupFolder {
  /** Newest backup at the last reading of the folder; undefined if there was none. */
  readonly newest: KeptBackup | undefined;
  /** Reads the folder. A folder that cannot be read counts as empty. */
  look(): void;
  /**
   * Writes a backup, then removes the oldest ones.
   *
   * @throws {StoreError} if the new backup failed; the others stay
   */
  add(signal: AbortSignal): Promise<KeptBackup>;
}

interface BackupFolderDeps {
  readonly store: Pick<Store, 'path' | 'instance'>;
  readonly copies: Pick<Copies, 'write'>;
  readonly clock: Pick<Clock, 'now'>;
}

export function createBackupFolder({ dir, keep }: BackupSettings, deps: BackupFolderDeps): BackupFolder {
  const { store, copies, clock } = deps;
  // Stores that share a folder keep separate backups.
  const start = `opsd-${store.instance}-`;

  /** Backups, oldest first. */
  function list(): readonly KeptBackup[] {
    return readdirSync(dir)
      .filter((name) => name.startsWith(start) && name.endsWith('.db'))
      .flatMap((name) => {
        const at = timeOf(name.slice(start.length, -'.db'.length));
        const file = join(dir, name);
        return at === undefined ? [] : [{ file, at, bytes: statSync(file).size }];
      })
      .toSorted((a, b) => a.at - b.at);
  }

  /** Removes the partial backups of a killed process. */
  function removeParts(): void {
    const parts = readdirSync(dir).filter((name) => name.startsWith(start) && /\.part(?:-\w+)?$/.test(name));
    for (const name of parts) rmSync(join(dir, name), { force: true });
  }

  function assertRoom(): void {
    const [needed, free] = [storeBytes(store.path), freeBytes(dir)];
    if (free < needed)
      throw new StoreError(`${dir}: a copy needs ${needed} bytes and only ${free} are free: free some space.`);
  }

  let newest: KeptBackup | undefined;

  const look = (): void => void (newest = attempt(list)?.at(-1));

  look();
  return {
    get newest() {
      return newest;
    },
    look,
    async add(signal) {
      try {
        makeFolder(dir, 0o700);
        removeParts();
        assertRoom();
      } catch (error) {
        if (error instanceof StoreError) throw error;
        throw new StoreError(`${dir}: the backup folder is unusable: ${errorMessage(error)}`, { cause: error });
      }
      const at = Math.floor(clock.now() / 1_000) * 1_000;
      const file = join(dir, `${start}${stampOf(at)}.db`);
      const { bytes } = await copies.write(file, signal);
      newest = { file, at, bytes };
      const others = list().filter((copy) => copy.file !== file);
      for (const old of others.slice(0, Math.max(0, others.length - (keep - 1)))) rmSync(old.file, { force: true });
      return newest;
    },
  };
}

/** Returns the size of the store and the free space around it. Unavailable values are undefined. */
export function readStoreFiles(path: string): { sizeBytes: number | undefined; freeBytes: number | undefined } {
  return { sizeBytes: attempt(() => storeBytes(path)), freeBytes: attempt(() => freeBytes(dirname(path))) };
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Returns the size of the store, including changes that are not merged into its file yet. */
function storeBytes(path: string): number {
  return statSync(path).size + (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0);
}

/** Returns a timestamp such as `20261122T140000Z`. */
function stampOf(at: number): string {
  return new Date(at).toISOString().replaceAll(/[-:]|\.\d+/g, '');
}

function timeOf(stamp: string): number | undefined {
  const [, date, time] = /^(\d{8})T(\d{6})Z$/.exec(stamp) ?? [];
  if (date === undefined || time === undefined) return undefined;
  const at = Date.parse(
    `${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}T${time.slice(0, 2)}:${time.slice(2, 4)}:${time.slice(4)}Z`,
  );
  return Number.isNaN(at) ? undefined : at;
}
