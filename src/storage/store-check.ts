import type { DatabaseSync } from 'node:sqlite';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { changedTables } from './table-digests.ts';

/** The first findings say enough. */
const MOST_FINDINGS = 3;

/**
 * Reads every page and every row: the structure, the indexes, and the checksums of the content. About 15 s a GB.
 *
 * @returns what is damaged; undefined when nothing is
 */
export function damageOf(db: DatabaseSync): string | undefined {
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
  const findings = [...structure, ...content];
  return findings.length === 0 ? undefined : findings.join('; ');
}

function attempt(read: () => readonly string[]): readonly string[] {
  try {
    return read();
  } catch (error) {
    return [errorMessage(error)];
  }
}
