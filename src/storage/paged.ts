/** Reads a listing in parts, so that a large table is never in memory as a whole. */
import type { Work } from './database.ts';

/** Maximum number of rows of a part: the `LIMIT` of its query. */
export const PART_ROWS = 5_000;

/** @param after returns the query of the part after a row, or of the first part */
export function* paged<R>(after: (last: R | undefined) => Work<readonly R[]>, take: (row: R) => void): Work<void> {
  let last: R | undefined;
  for (;;) {
    const rows = yield* after(last);
    for (const row of rows) take(row);
    if (rows.length < PART_ROWS) return;
    last = rows.at(-1);
  }
}
