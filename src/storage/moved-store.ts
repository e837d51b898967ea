/**
 * Mark of a store that was moved to another database. Both have the same identity and the same ledger, so that only one
 * of them is allowed to act.
 */
import type { Work } from './database.ts';
import { addMeta, metaValue, removeMeta } from './meta.ts';
import { StoreError } from './store-error.ts';

/** Key of the place that has the store now. */
const MOVED_TO = 'moved_to';

/** Condition of a statement that must change nothing in a moved store. */
export const NOT_MOVED = `NOT EXISTS (SELECT 1 FROM meta WHERE key = '${MOVED_TO}')`;

/** @throws {StoreError} if the store was moved */
export function* assertNotMoved(place: string): Work<void> {
  const to = yield* movedTo();
  if (to === undefined) return;
  throw new StoreError(
    `${place}: the store was moved to ${to}, and this one lacks all later actions. Configure that store. ` +
      'To use this one again, stop the daemons on the other one, and run "opsd state copy --undo --from" with this store.',
  );
}

export const markMoved = (to: string) => addMeta(MOVED_TO, to);

/** Removes the mark of a copy that failed: no other process has had either store since. */
export const unmarkMoved = () => removeMeta(MOVED_TO);

/** Returns the place that has the store now; undefined if it was not moved. */
export const movedTo = () => metaValue(MOVED_TO);
