import type { DatabaseSync } from 'node:sqlite';
import { errorMessage } from '../platform/error-message.ts';
import { StoreError } from './store-error.ts';
import { changedTables } from './table-digests.ts';

/** The first findings say enough. */
const MOST_FINDINGS = 3;

/**
 * Reads every page and every row: the structure, the indexes, and the checksums of the content. About 15 s a GB.
 *
 * @throws {StoreError} when the store is damaged, with what is
 */
export function checkStore(db: DatabaseSync, path: string): void {
  const findings = findingsOf(db);
  if (findings.length === 0) return;
  throw new StoreError(
    `${path}: the store is damaged: ${findings.join('; ')}. The daemon neither shows its counters nor acts on it. ` +
      'Restore a backup with "opsd state restore FILE", or move the file away to begin with an empty store.',
  );
}

function findingsOf(db: DatabaseSync): readonly string[] {
  const structure = attempt(() =>
    db
      .prepare(`PRAGMA integrity_check(${MOST_FINDINGS})`)
      .all()
      .map((row) => String(row['integrity_check']).replace(/^\*\*\* .* \*\*\*\n/, ''))
      .filter((finding) => finding !== 'ok'),
  );
  const content = attempt(() =>
    changedTables(db).map((table) => `the content of table ${table} is not what was written`),
  );
  return [...structure, ...content];
}

function attempt(read: () => readonly string[]): readonly string[] {
  try {
    return read();
  } catch (error) {
    return [errorMessage(error)];
  }
}
