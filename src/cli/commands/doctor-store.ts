/** Checks of the store: that it opens, its permissions, and the space on its disk. */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { dirname } from 'node:path';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { assertNotMoved } from '#storage/moved-store.ts';
import { createSqliteDatabase } from '#storage/sqlite-database.ts';
import { checkVersion } from '#storage/sqlite.ts';
import { assertOwnStore } from '#storage/store-identity.ts';
import { finding, ok, type Check, type CheckResult } from './doctor-check.ts';
import type { Running } from './doctor-daemon.ts';

const LEAST_FREE_BYTES = 1_073_741_824;

/** @param running daemon that holds the store; undefined if none runs */
export function checkStore(path: string, running: Running | undefined): readonly Check[] {
  const folder = existing(dirname(path));
  return [
    { check: 'store', subject: path, ...(running === undefined ? fileCheck(path) : heldCheck(running)) },
    ...permissionChecks(path, folder),
    spaceCheck(folder),
  ];
}

function heldCheck({ status }: Running): CheckResult {
  const { storeError } = status;
  if (typeof storeError !== 'string') return ok('the daemon uses it');
  return finding(storeError, 'docs/backup.md describes how to restore a backup');
}

function fileCheck(path: string): CheckResult {
  if (!existsSync(path)) return ok('the first start creates it');
  try {
    const db = new DatabaseSync(path, { readOnly: true });
    try {
      assertOwnStore(db, path);
      if (checkVersion(db, path) > 0) createSqliteDatabase(db).now(assertNotMoved(path));
    } finally {
      db.close();
    }
    return ok('opens');
  } catch (error) {
    const fix =
      'run opsd as the owner of the store, restore a backup (docs/backup.md), or configure the store that has moved';
    return finding(errorMessage(error), fix);
  }
}

function permissionChecks(path: string, folder: string): readonly Check[] {
  const checks: Check[] = [];
  if (existsSync(path) && (statSync(path).mode & 0o077) !== 0) {
    checks.push({ check: 'store', subject: path, ...finding('other users can read it', `chmod 600 ${path}`) });
  }
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch {
    const fix = 'run opsd as the owner of the folder, or change storage.sqlite.path';
    checks.push({ check: 'store', subject: folder, ...finding('this user cannot write there', fix) });
  }
  return checks;
}

function spaceCheck(folder: string): Check {
  const { bavail, bsize, blocks } = statfsSync(folder);
  const free = bavail * bsize;
  const result = `${gigabytes(free)} of ${gigabytes(blocks * bsize)} free`;
  const fix = 'free at least 1 GiB, or move storage.sqlite.path to another disk';
  return { check: 'disk', subject: folder, ...(free >= LEAST_FREE_BYTES ? ok(result) : finding(result, fix)) };
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1_073_741_824).toFixed(1)} GiB`;
}

/** The folder itself, or its first parent that exists. */
function existing(folder: string): string {
  return existsSync(folder) ? folder : existing(dirname(folder));
}
