/** The server of tests and benches leaves nothing behind. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { OWN_SERVERS } from '../../support/postgres/servers.ts';
import { until } from '../../support/until.ts';

const PROGRAM = 'test/support/programs/postgres-server.ts';

/** Returns the data folder of the server that listens on a port. */
function dataOf(port: string): string {
  const commands = readdirSync('/proc').flatMap((pid) => {
    try {
      return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')];
    } catch {
      return [];
    }
  });
  const args = commands.find((command) => command[0]!.endsWith('/postgres') && command.includes(port))!;
  return args[args.indexOf('-D') + 1]!;
}

test.skipIf(OWN_SERVERS.length === 0).each(['SIGINT', 'SIGTERM'] as const)(
  'a server whose process group gets %s removes its folder',
  async (signal) => {
    const program = spawn(process.execPath, [PROGRAM], { detached: true, stdio: ['pipe', 'pipe', 'inherit'] });
    const closed = once(program, 'close');
    onTestFinished(async () => {
      program.stdin.end();
      await closed;
    });
    const [url] = (await once(program.stdout.setEncoding('utf8'), 'data')) as [string];
    const folder = dirname(dataOf(new URL(url.trim()).port));
    expect(existsSync(folder)).toBe(true);
    process.kill(-program.pid!, signal);
    await closed;
    await until({ what: 'the folder to be removed' }, () => !existsSync(folder));
  },
);
