/** Which running daemon a command means: by its socket, by the configuration beside it, or by its address. */
import { readFileSync } from 'node:fs';
import { CommandError, textOption, UsageError, type Call, type OptionSpec } from './command.ts';
import { CONFIG_OPTION, configPath, readConfig } from './config-file.ts';
import type { DaemonCall } from './daemon-exchange.ts';

export const SOCKET_OPTION: OptionSpec = {
  type: 'string',
  value: 'PATH',
  help: 'Socket of the daemon; default: the one beside its store.',
};

/** Those of every command that talks with the daemon. */
export const DAEMON_OPTIONS = {
  config: CONFIG_OPTION,
  socket: SOCKET_OPTION,
  url: {
    type: 'string',
    value: 'URL',
    help: 'Address of the daemon, in place of its socket; default: $OPSD_URL.',
  },
  'token-file': {
    type: 'string',
    value: 'FILE',
    help: 'File with the token for that address; default: the token in $OPSD_TOKEN.',
  },
} as const satisfies Readonly<Record<string, OptionSpec>>;

/** Where the daemon is; undefined when the configuration is not usable, which has then been said on stderr. */
export async function findDaemon(call: Call): Promise<DaemonCall | undefined> {
  const { io, values } = call;
  const { signal } = io;
  const given = ['socket', 'url', 'config'].filter((name) => textOption(values, name) !== undefined);
  if (given.includes('url') && given.length > 1) {
    throw new UsageError(`--${given[0]} and --${given[1]} name two daemons; give one`);
  }
  const url = textOption(values, 'url') ?? (given.length === 0 ? io.env['OPSD_URL'] || undefined : undefined);
  if (url !== undefined) return { url: checkedUrl(url), ...tokenOf(call), signal };
  if (textOption(values, 'token-file') !== undefined) {
    throw new UsageError('--token-file goes with --url; over the socket no token is needed');
  }
  const socketPath = await findSocket(call);
  return socketPath === undefined ? undefined : { socketPath, signal };
}

/** The socket's path; undefined when the configuration is not usable, which has then been said on stderr. */
export async function findSocket({ io, values }: Call): Promise<string | undefined> {
  const given = textOption(values, 'socket');
  if (given !== undefined) return given;
  const { socketPathOf } = await import('./daemon-client.ts');
  // Only the store's path is wanted: the files of secrets may be readable by the daemon alone.
  const config = await readConfig(io, configPath(values, io.env), { secrets: false });
  return config === undefined ? undefined : socketPathOf(config.storage.sqlite.path);
}

function checkedUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new UsageError('the URL of the daemon must begin with http:// or https://');
  }
  // Arguments can be read by every user of the machine, and URLs land in logs.
  if (url.username !== '' || url.password !== '') {
    throw new UsageError('no credentials in the URL of the daemon: give --token-file FILE, or OPSD_TOKEN');
  }
  return url;
}

function tokenOf({ io, values }: Call): { readonly token?: string } {
  const file = textOption(values, 'token-file');
  if (file === undefined) {
    const token = (io.env['OPSD_TOKEN'] ?? '').trim();
    return token === '' ? {} : { token };
  }
  try {
    // Of several the first: the others are for the daemon, while one replaces another.
    const token = readFileSync(file, 'utf8').trim().split(/\s+/)[0] ?? '';
    if (token !== '') return { token };
  } catch (error) {
    throw new CommandError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`, {
      cause: error,
    });
  }
  throw new CommandError(`${file} is empty; write the token into it`);
}
