/** Debian's PostgreSQL in a temporary folder, on a free port of loopback. */
import { execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { until } from '../until.ts';

const VERSIONS = '/usr/lib/postgresql';
const NOBODY = { uid: 65_534, gid: 65_534 };

/** Runs the server until the standard input ends, which it does with this process. */
const SUPERVISOR = 'folder=$1; shift; "$@" & read -r _; kill -QUIT $!; wait; rm -rf "$folder"';

/** Folder of the newest version's programs; undefined if PostgreSQL is not installed. */
export function postgresPrograms(): string | undefined {
  if (!existsSync(VERSIONS)) return undefined;
  const versions = readdirSync(VERSIONS).toSorted((a, b) => Number(b) - Number(a));
  return versions.map((version) => join(VERSIONS, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb')));
}

/** Starts a server and returns its URL without a database. It ends with this process. */
export async function startPostgres(bin: string): Promise<string> {
  // The server refuses to run as root, and another user cannot enter each folder of root.
  const isRoot = process.geteuid?.() === 0;
  const folder = mkdtempSync(join(isRoot ? '/tmp' : tmpdir(), 'opsd-postgres-'));
  if (isRoot) chownSync(folder, NOBODY.uid, NOBODY.gid);
  const data = join(folder, 'data');
  const options = { cwd: folder, env: { LC_ALL: 'C', TZ: 'UTC' }, ...(isRoot && NOBODY) };
  execFileSync(join(bin, 'initdb'), ['-D', data, '-A', 'trust', '-U', 'opsd', '-E', 'UTF8', '-N'], {
    ...options,
    stdio: 'pipe',
  });
  const port = await freePort();
  const settings = { listen_addresses: '127.0.0.1', unix_socket_directories: '', fsync: 'off', shared_buffers: '32MB' };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = spawn(
    '/bin/sh',
    ['-c', SUPERVISOR, 'sh', folder, join(bin, 'postgres'), '-D', data, '-p', String(port), ...args],
    { ...options, stdio: ['pipe', 'ignore', 'pipe'] },
  );
  let log = '';
  server.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  await until({ what: 'PostgreSQL to start' }, () => {
    if (log.includes('FATAL')) throw new Error(log);
    return log.includes('ready to accept connections') ? true : undefined;
  });
  server.unref();
  for (const pipe of [server.stdin, server.stderr]) (pipe as ReturnType<typeof connect>).unref();
  return `postgres://opsd@127.0.0.1:${port}`;
}
