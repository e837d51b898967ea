/** Choice of the running daemon: by its socket, by its configuration, or by its address. */
import { existsSync, statSync } from 'node:fs';
import type { Config } from '#config/config.ts';
import {
  CommandError,
  readWhole,
  ReportedError,
  textOption,
  UsageError,
  valueOption,
  type Call,
  type DirectNeeds,
  type OptionSpec,
} from './command.ts';
import { socketPathOf } from '#foundation/platform/socket-path.ts';
import { ownCommand, type OwnCommand } from '#foundation/domain/own-command.ts';
import { clientCertificate, type ClientCertificate } from './client-certificate.ts';
import { CONFIG_OPTION, configPath, readConfig } from './config-file.ts';
import type { DaemonCall } from './daemon-exchange.ts';

export const SOCKET_OPTION: OptionSpec = valueOption(
  'PATH',
  'Socket of the daemon; default: $OPSD_SOCKET, else the one next to its store.',
);

/** Options of every command that sends requests to the daemon. */
export const DAEMON_OPTIONS = {
  config: CONFIG_OPTION,
  socket: SOCKET_OPTION,
  url: valueOption('URL', 'Address of the daemon, instead of its socket; default: $OPSD_URL.'),
  'token-file': valueOption('FILE', 'File with the token for that address; default: the token in $OPSD_TOKEN.'),
  'user-file': valueOption('FILE', 'File with user:password instead of a token; default: $OPSD_USER.'),
  'ca-file': valueOption('FILE', 'File with the CA of the daemon’s certificate; default: $OPSD_CA_FILE.'),
  'cert-file': valueOption('FILE', 'File with a client certificate; default: $OPSD_CERT_FILE.'),
  'key-file': valueOption('FILE', 'File with the key of the client certificate; default: $OPSD_KEY_FILE.'),
} as const satisfies Readonly<Record<string, OptionSpec>>;

/** Formats commands for the daemon of this call. */
export function commandOf({ io, values }: Pick<Call, 'io' | 'values'>): OwnCommand {
  const given = (Object.keys(DAEMON_OPTIONS) as (keyof typeof DAEMON_OPTIONS)[]).flatMap((name) => {
    const value = textOption(values, name);
    return value === undefined ? [] : [`--${name}`, value];
  });
  return ownCommand(io.env, given);
}

/**
 * Place of the daemon.
 *
 * @param needs parts of a daemon that this command starts itself if none runs for the named configuration; absent if the
 *   command requires a running daemon
 * @throws {ReportedError} if the place is unknown
 */
export async function findDaemon(call: Call, needs?: DirectNeeds): Promise<DaemonCall> {
  const { io, values } = call;
  const { signal } = io;
  const command = commandOf(call);
  const given = ['socket', 'url', 'config'].filter((name) => textOption(values, name) !== undefined);
  if (given.includes('url') && given.length > 1) {
    throw new UsageError(`--${given[0]} and --${given[1]} name two daemons; remove one of them`);
  }
  const url = textOption(values, 'url') ?? (given.length === 0 ? io.env['OPSD_URL'] || undefined : undefined);
  if (url !== undefined) {
    const target = checkedUrl(url);
    const [unused] = OF_TLS.filter((name) => textOption(values, name) !== undefined);
    if (unused !== undefined && target.protocol === 'http:')
      throw new UsageError(`--${unused} requires an address with https://`);
    const authorization = authorizationOf(call);
    return { url: target, ...(authorization !== undefined && { authorization }), tls: tlsOf(call), signal, command };
  }
  const [astray] = OF_URL.filter((name) => textOption(values, name) !== undefined);
  if (astray !== undefined) {
    throw new UsageError(`--${astray} requires --url; the socket needs no credentials`);
  }
  const { socketPath, config } = await findPlace(call, needs !== undefined);
  const option = (['socket', 'config'] as const).find((name) => given.includes(name));
  const named = option ?? (needs === undefined ? undefined : ('neither' as const));
  const daemon = { socketPath, signal, command, ...(named !== undefined && { named }) };
  if (needs === undefined || config === undefined) return daemon;
  const { startDirectly } = await import('./direct.ts');
  const direct = await startDirectly(call, { ...needs, socketPath, config });
  return { ...daemon, socketPath: direct?.socketPath ?? socketPath };
}

interface Place {
  readonly socketPath: string;
  /** Valid configuration that the user named, with the socket next to its store. */
  readonly config?: Config;
}

/** Running daemon, by its socket only. @throws {ReportedError} if its place is unknown */
export async function findLocalDaemon(call: Call): Promise<DaemonCall> {
  const { socketPath } = await findPlace(call, false);
  return { socketPath, signal: call.io.signal, command: commandOf(call) };
}

/**
 * @param mayStart true if the command starts a daemon, which needs the whole configuration, if none runs
 * @throws {ReportedError} if the configuration is invalid, and no socket exists at its path
 */
async function findPlace({ io, values }: Call, mayStart: boolean): Promise<Place> {
  const isConfigured = textOption(values, 'config') !== undefined;
  const given = textOption(values, 'socket') ?? (isConfigured ? undefined : io.env['OPSD_SOCKET'] || undefined);
  if (given !== undefined) return { socketPath: given };
  const file = configPath(values, io.env);
  const { storePathOf } = await import('#config/store-path.ts');
  const socketPath = socketPathOf(storePathOf(file, io.env));
  if (!mayStart && isOlder(file, socketPath)) return { socketPath };
  // Only the store's path is needed: the files of secrets may be readable by the daemon only.
  const config = await readConfig(io, file, { secrets: false });
  const isNamed = textOption(values, 'config') !== undefined || Boolean(io.env['OPSD_CONFIG']);
  if (config !== undefined) return { socketPath: socketPathOf(config.localPath), ...(isNamed && { config }) };
  // A file name with a typo must not reach a daemon that the user did not name.
  if (isNamed && !existsSync(file)) {
    io.stderr.write(
      '  help: no request was sent; name the running daemon by its socket, next to its store: --socket PATH\n',
    );
    throw new ReportedError();
  }
  // A daemon that still runs with the previous configuration must stay controllable.
  if (!existsSync(socketPath)) {
    io.stderr.write('  help: name a running daemon by its socket, next to its store: --socket PATH\n');
    throw new ReportedError();
  }
  io.stderr.write(`This configuration is invalid; sending the request to the daemon at ${socketPath} anyway.\n`);
  return { socketPath };
}

/** Returns true if the file is unchanged since the daemon checked it and opened its socket. */
function isOlder(file: string, socketPath: string): boolean {
  const [read, opened] = [file, socketPath].map((path) => statSync(path, { throwIfNoEntry: false })?.ctimeMs);
  return read !== undefined && opened !== undefined && read < opened;
}

function checkedUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new UsageError('the URL of the daemon must begin with http:// or https://');
  }
  // Every user of the machine can read arguments, and URLs end up in logs.
  if (url.username !== '' || url.password !== '') {
    throw new UsageError(
      'the URL of the daemon must not have credentials; use --token-file FILE, --user-file FILE, OPSD_TOKEN or OPSD_USER',
    );
  }
  return url;
}

/** Options for the address only. */
const OF_TLS = ['ca-file', 'cert-file', 'key-file'] as const;
const OF_URL = ['token-file', 'user-file', ...OF_TLS] as const;

/** Authorization of the caller. Options override the environment. */
function authorizationOf({ io, values }: Call): string | undefined {
  const [tokenFile, userFile] = [textOption(values, 'token-file'), textOption(values, 'user-file')];
  if (tokenFile !== undefined && userFile !== undefined) {
    throw new UsageError('--token-file and --user-file name two callers; remove one of them');
  }
  // The file may have several tokens for a rotation on the daemon's side; a command uses the first.
  if (tokenFile !== undefined) return `Bearer ${readSecret(tokenFile, 'the token').split(/\s+/)[0]!}`;
  if (userFile !== undefined) return basic(readSecret(userFile, 'user:password'), userFile);
  const [token, user] = [io.env['OPSD_TOKEN']?.trim() ?? '', io.env['OPSD_USER']?.trim() ?? ''];
  if (token !== '' && user !== '') throw new UsageError('OPSD_TOKEN and OPSD_USER name two callers; unset one of them');
  if (token !== '') return `Bearer ${token}`;
  return user === '' ? undefined : basic(user, 'OPSD_USER');
}

/** @param from source of the text, for the error */
function basic(text: string, from: string): string {
  if (text.indexOf(':') > 0) return `Basic ${Buffer.from(text).toString('base64')}`;
  throw new CommandError(`${from} does not contain user:password`);
}

function readSecret(file: string, what: string): string {
  const text = readWhole(file).toString('utf8').trim();
  if (text === '') throw new CommandError(`${file} is empty; write ${what} into it`);
  return text;
}

function tlsOf({ io, values }: Call): { readonly ca?: string; readonly client?: ClientCertificate } {
  const read = (option: string, variable: string) => {
    const file = textOption(values, option) ?? (io.env[variable] || undefined);
    return file === undefined ? undefined : { file, text: readWhole(file).toString('utf8') };
  };
  const ca = read('ca-file', 'OPSD_CA_FILE')?.text;
  const cert = read('cert-file', 'OPSD_CERT_FILE');
  const key = read('key-file', 'OPSD_KEY_FILE');
  const trusted = { ...(ca !== undefined && { ca }) };
  if (cert !== undefined && key !== undefined) {
    return { ...trusted, client: clientCertificate(cert, key, io.clock.now()) };
  }
  if (cert !== key) throw new UsageError('a client certificate needs both --cert-file and --key-file');
  return trusted;
}
