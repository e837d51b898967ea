/** Which running daemon a command means: by its socket, by the configuration beside it, or by its address. */
import { existsSync, readFileSync } from 'node:fs';
import { CommandError, textOption, UsageError, type Call, type OptionSpec } from './command.ts';
import { socketPathOf } from '#foundation/platform/socket-path.ts';
import { ownCommand, type OwnCommand } from '#foundation/domain/own-command.ts';
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
  'user-file': {
    type: 'string',
    value: 'FILE',
    help: 'File with user:password in place of it; default: $OPSD_USER.',
  },
  'ca-file': {
    type: 'string',
    value: 'FILE',
    help: 'File with the authority of its certificate; default: $OPSD_CA_FILE.',
  },
  'cert-file': {
    type: 'string',
    value: 'FILE',
    help: 'File with a certificate to show; default: $OPSD_CERT_FILE.',
  },
  'key-file': {
    type: 'string',
    value: 'FILE',
    help: 'File with the key of that certificate; default: $OPSD_KEY_FILE.',
  },
} as const satisfies Readonly<Record<string, OptionSpec>>;

/** Commands for the daemon that this call means. */
export function commandOf({ io, values }: Pick<Call, 'io' | 'values'>): OwnCommand {
  const given = (Object.keys(DAEMON_OPTIONS) as (keyof typeof DAEMON_OPTIONS)[]).flatMap((name) => {
    const value = textOption(values, name);
    return value === undefined ? [] : [`--${name}`, value];
  });
  return ownCommand(io.env, given);
}

/** Where the daemon is; undefined when it cannot be told, which has then been said on stderr. */
export async function findDaemon(call: Call): Promise<DaemonCall | undefined> {
  const { io, values } = call;
  const { signal } = io;
  const command = commandOf(call);
  const given = ['socket', 'url', 'config'].filter((name) => textOption(values, name) !== undefined);
  if (given.includes('url') && given.length > 1) {
    throw new UsageError(`--${given[0]} and --${given[1]} name two daemons; give one`);
  }
  const url = textOption(values, 'url') ?? (given.length === 0 ? io.env['OPSD_URL'] || undefined : undefined);
  if (url !== undefined) {
    const target = checkedUrl(url);
    const [unused] = OF_TLS.filter((name) => textOption(values, name) !== undefined);
    if (unused !== undefined && target.protocol === 'http:') throw new UsageError(`--${unused} goes with https://`);
    const authorization = authorizationOf(call);
    return { url: target, ...(authorization !== undefined && { authorization }), tls: tlsOf(call), signal, command };
  }
  const [astray] = OF_URL.filter((name) => textOption(values, name) !== undefined);
  if (astray !== undefined) {
    throw new UsageError(`--${astray} goes with --url; over the socket nobody is asked who they are`);
  }
  const socketPath = await findSocket(call);
  return socketPath === undefined ? undefined : { socketPath, signal, command };
}

/**
 * The socket's path; undefined when the configuration is not usable, which has then been said on stderr, and no socket
 * is where it says.
 */
export async function findSocket({ io, values }: Call): Promise<string | undefined> {
  const given = textOption(values, 'socket');
  if (given !== undefined) return given;
  // Only the store's path is wanted: the files of secrets may be readable by the daemon alone.
  const file = configPath(values, io.env);
  const config = await readConfig(io, file, { secrets: false });
  if (config !== undefined) return socketPathOf(config.storage.sqlite.path);
  // A name with a typo in it must not reach a daemon that nobody named.
  const isNamed = textOption(values, 'config') !== undefined || Boolean(io.env['OPSD_CONFIG']);
  if (isNamed && !existsSync(file)) {
    io.stderr.write(
      '  help: no daemon was asked; name the one that runs by its socket, beside its store: --socket PATH\n',
    );
    return undefined;
  }
  // A daemon that runs on the configuration of before must not be without its brake.
  const { storePathOf } = await import('#config/store-path.ts');
  const socketPath = socketPathOf(storePathOf(file, io.env));
  if (!existsSync(socketPath)) {
    io.stderr.write('  help: a daemon that runs can be named by its socket, beside its store: --socket PATH\n');
    return undefined;
  }
  io.stderr.write(`This configuration cannot be used; the daemon at ${socketPath} is asked all the same.\n`);
  return socketPath;
}

function checkedUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new UsageError('the URL of the daemon must begin with http:// or https://');
  }
  // Arguments can be read by every user of the machine, and URLs land in logs.
  if (url.username !== '' || url.password !== '') {
    throw new UsageError(
      'no credentials in the URL of the daemon: give --token-file FILE or --user-file FILE, or OPSD_TOKEN or OPSD_USER',
    );
  }
  return url;
}

/** Options that are about the address alone. */
const OF_TLS = ['ca-file', 'cert-file', 'key-file'] as const;
const OF_URL = ['token-file', 'user-file', ...OF_TLS] as const;

/** What was given by an option goes before the environment, where both could be meant. */
function authorizationOf({ io, values }: Call): string | undefined {
  const [tokenFile, userFile] = [textOption(values, 'token-file'), textOption(values, 'user-file')];
  if (tokenFile !== undefined && userFile !== undefined) {
    throw new UsageError('--token-file and --user-file name two callers; give one');
  }
  // Of several the first: the others are for the daemon, while one replaces another.
  if (tokenFile !== undefined) return `Bearer ${readSecret(tokenFile, 'the token').split(/\s+/)[0]!}`;
  if (userFile !== undefined) return basic(readSecret(userFile, 'user:password'), userFile);
  const [token, user] = [io.env['OPSD_TOKEN']?.trim() ?? '', io.env['OPSD_USER']?.trim() ?? ''];
  if (token !== '' && user !== '') throw new UsageError('OPSD_TOKEN and OPSD_USER name two callers; set one');
  if (token !== '') return `Bearer ${token}`;
  return user === '' ? undefined : basic(user, 'OPSD_USER');
}

/** @param from where it is written, for the error */
function basic(text: string, from: string): string {
  if (text.indexOf(':') > 0) return `Basic ${Buffer.from(text).toString('base64')}`;
  throw new CommandError(`${from} does not hold user:password`);
}

function readSecret(file: string, what: string): string {
  const text = readWhole(file).trim();
  if (text === '') throw new CommandError(`${file} is empty; write ${what} into it`);
  return text;
}

function tlsOf({ io, values }: Call): { readonly ca?: string; readonly cert?: string; readonly key?: string } {
  const read = (option: string, variable: string): string | undefined => {
    const file = textOption(values, option) ?? (io.env[variable] || undefined);
    return file === undefined ? undefined : readWhole(file);
  };
  const ca = read('ca-file', 'OPSD_CA_FILE');
  const cert = read('cert-file', 'OPSD_CERT_FILE');
  const key = read('key-file', 'OPSD_KEY_FILE');
  if ((cert === undefined) !== (key === undefined)) {
    throw new UsageError('a certificate to show needs both --cert-file and --key-file');
  }
  return { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) };
}

function readWhole(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`, {
      cause: error,
    });
  }
}
