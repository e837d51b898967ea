/** Debian's PostgreSQL for all processes of a test run. Prints its URL, and runs until the
 * standard input ends. */
import { DebianServer, postgresPrograms } from '../postgres/debian-server.ts';

const programs = postgresPrograms();
if (programs === undefined) throw new Error('PostgreSQL is not installed: apt-get install postgresql');
process.stdout.write(`${(await DebianServer.start(programs)).url}\n`);
process.stdin.resume().on('end', () => process.exit());
