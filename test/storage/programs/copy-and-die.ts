/**
 * Moves a store, and ends at a named moment. Arguments: the direction, the path of the store on SQLite, the URL of the
 * database, the moment.
 */
import { systemClock } from '#foundation/platform/clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { workOf } from '#storage/database.ts';
import { moveToPostgres, moveToSqlite, type CopyWatch } from '#storage/copy/store-copy.ts';
import { openPostgres, type PostgresDatabase } from '#storage/postgres/postgres-database.ts';

const [direction, path, url, moment] = process.argv.slice(2) as [string, string, string, string];
const die = (): void => void process.kill(process.pid, 'SIGKILL');
const real = openPostgres({ url: Secret.of(url), name: 'test', poolSize: 2, clock: systemClock });

const dying: PostgresDatabase = {
  ...real,
  async transaction(work) {
    const result = await real.transaction(function* () {
      const last = yield* workOf(work);
      if (moment === 'before-commit') die();
      return last;
    });
    if (moment === 'after-commit') die();
    return result;
  },
};
const watch: CopyWatch = {
  signal: new AbortController().signal,
  onProgress: (step, table) => void (step === moment && table === 'intents' && die()),
};
if (direction === 'to-postgres') await moveToPostgres(path, dying, watch);
else await moveToSqlite(dying, path, watch);
