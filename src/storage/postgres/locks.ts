/** Locks that all replicas share. They end with the transaction. */
import { run, type Work } from '../database.ts';

/** First half of the keys: `opsd` in ASCII. */
const PROGRAM = 0x6f_70_73_64;
const KEYS = { schema: 1, audit: 2 };

/** Waits for a lock, which the transaction then holds until its end. */
export function* lockFor(name: keyof typeof KEYS): Work<void> {
  yield* run('SELECT pg_advisory_xact_lock(?, ?)', PROGRAM, KEYS[name]);
}
