/** Copies the store of the first argument to the second, under a limit of file sizes, and prints the result. */
import { backupStore } from '#storage/backup.ts';
import { openStore } from '#storage/sqlite.ts';

process.on('SIGXFSZ', () => undefined);
const [path = '', file = ''] = process.argv.slice(2);
using store = openStore(path);
try {
  await backupStore(store, file);
  process.stdout.write('copied');
} catch (error) {
  process.stdout.write((error as Error).message);
}
