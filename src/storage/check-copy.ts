/** Thread that checks a copy of a store, so that the daemon stays responsive. It fails with the damage. */
import { DatabaseSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';
import { damageOf } from './store-check.ts';

using db = new DatabaseSync(String(workerData));
// Otherwise SQLite would leave a shared-memory file beside the copy.
db.exec('PRAGMA locking_mode = EXCLUSIVE');
const damage = damageOf(db);
if (damage !== undefined) {
  throw new Error(`it is damaged: ${damage}; restart the daemon to check the store, and check both disks`);
}
