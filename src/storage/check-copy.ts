/** A thread that checks a copy of a store, so that the daemon answers meanwhile. It fails with the damage. */
import { DatabaseSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';
import { damageOf } from './store-check.ts';

using db = new DatabaseSync(String(workerData));
// Without it SQLite would leave a file of shared memory beside the copy.
db.exec('PRAGMA locking_mode = EXCLUSIVE');
const damage = damageOf(db);
if (damage !== undefined) {
  throw new Error(`it is damaged: ${damage}; restart the daemon to have the store checked, and look at both disks`);
}
