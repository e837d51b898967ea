/** Reports at the start of a test run if PGlite replaces PostgreSQL. */
import { SERVERS } from './servers.ts';

export function setup(): void {
  if (SERVERS.includes('PostgreSQL')) return;
  process.stdout.write('PostgreSQL is not installed (Debian: postgresql): the tests of its store use only PGlite.\n');
}
