/** One request to the running daemon, over its unix socket or its address, and its JSON response. */
import { isRecord, jsonOf } from '#foundation/domain/json.ts';
import { userInfo } from 'node:os';
import http, { type ClientRequest, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { LOCAL_USER_HEADER } from '#foundation/platform/socket-path.ts';
import { withOwnCommands, type OwnCommand } from '#foundation/domain/own-command.ts';
import { mayBeRejection, rejectionHelp, type ClientCertificate } from './client-certificate.ts';
import { CommandError } from './command.ts';
import { printable } from './output.ts';

const MAX_ANSWER_BYTES = 64 * 1_048_576;

export type DaemonCall = (
  | {
      readonly socketPath: string;
      /**
       * Option that selected the socket. `neither`: none was given to a command that works without a daemon if its
       * configuration is named. Absent: none was given to another command.
       */
      readonly named?: 'socket' | 'config' | 'neither';
    }
  | {
      readonly url: URL;
      /** Complete header; never shown. */
      readonly authorization?: string;
      readonly tls?: {
        /** PEM: trusted authority. */
        readonly ca?: string;
        readonly client?: ClientCertificate;
      };
    }
) & {
  readonly signal: AbortSignal;
  /** Formats a command for this daemon that can be run as printed. */
  readonly command: OwnCommand;
};

export interface Exchange {
  readonly method: 'GET' | 'POST';
  /** Path, beginning with `/`. */
  readonly path: string;
  readonly body?: unknown;
}

export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** Path with a query: a list repeats its name, undefined values are left out. */
export function pathWith(path: string, query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of value === undefined ? [] : [value].flat()) search.append(name, String(one));
  }
  return search.size === 0 ? path : `${path}?${search.toString()}`;
}

/** @throws {CommandError} if no daemon responds or it rejects the request */
export async function exchange(call: DaemonCall, asked: Exchange): Promise<Readonly<Record<string, unknown>>> {
  const answer = await exchangeText(call, asked);
  if (answer.status !== 200) throw rejected(call, answer);
  return recordOf(call, answer);
}

export interface TextAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
}

/** Response that is not a success. */
export class DaemonRejection extends CommandError {
  /** See the daemon's `ErrorCode`. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export function rejected(call: DaemonCall, answer: Pick<TextAnswer, 'status' | 'text'>): DaemonRejection {
  const { error } = recordOf(call, answer);
  const { message, code } = isRecord(error) ? error : {};
  const said = typeof message === 'string' ? printable(message) : `HTTP ${answer.status}`;
  return new DaemonRejection(String(code), `the daemon rejected the request: ${said}`);
}

function recordOf(call: DaemonCall, { text }: Pick<TextAnswer, 'text'>): Readonly<Record<string, unknown>> {
  const value = withOwnCommands(jsonOf(text), call.command);
  if (value === undefined) {
    throw new CommandError(`the program on ${daemonPlace(call)} is not opsd: its response is not JSON`);
  }
  if (!isRecord(value)) throw new CommandError(`the program on ${daemonPlace(call)} is not opsd`);
  return value;
}

/** Returns true if no program listens at the daemon's place. */
export function isNobodyThere(error: unknown): boolean {
  if (!(error instanceof CommandError)) return false;
  const { code } = (error.cause ?? {}) as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ECONNREFUSED';
}

export function daemonPlace(call: DaemonCall): string {
  return 'socketPath' in call ? call.socketPath : call.url.origin;
}

/** Sends a request and returns its response, whatever it is. @throws {CommandError} if no daemon responds */
export async function exchangeText(call: DaemonCall, asked: Exchange): Promise<TextAnswer> {
  const { signal } = call;
  const isTls = 'url' in call && call.url.protocol === 'https:';
  const { request } = isTls ? await import('node:https') : http;
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      reject(signal.aborted ? (signal.reason as Error) : explain(error, call));
    };
    const sent = open(request, call, asked);
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes > MAX_ANSWER_BYTES) response.destroy(new Error('its response is too long'));
      });
      response.on('error', fail);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: response.statusCode ?? 0, text, headers: response.headers });
      });
    });
    sent.on('error', fail);
    sent.end(asked.body === undefined ? undefined : JSON.stringify(asked.body));
  });
}

/** Returns the user who runs the command, or who ran `sudo`. The daemon records the name as a claim. */
export function unixUser(): string {
  const sudo = process.env['SUDO_USER'];
  if (sudo !== undefined && sudo !== '') return encodeURIComponent(sudo);
  try {
    return encodeURIComponent(userInfo().username);
  } catch {
    // A container may run with a user id that has no name.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Opens the request. It follows no redirect, so that a token goes only to the named address. */
function open(request: typeof http.request, call: DaemonCall, { method, path }: Exchange): ClientRequest {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' };
  const options: RequestOptions = { method, signal: call.signal, agent: false, headers };
  if ('socketPath' in call) {
    headers[LOCAL_USER_HEADER] = unixUser();
    return request({ ...options, socketPath: call.socketPath, path });
  }
  if (call.authorization !== undefined) headers['Authorization'] = call.authorization;
  const target = new URL(call.url.pathname.replace(/\/$/, '') + path, call.url);
  if (target.protocol !== 'https:') return request(target, options);
  const { ca, client } = call.tls ?? {};
  const shown = client && { cert: client.cert, key: client.key };
  return request(target, { ...options, ...(ca !== undefined && { ca }), ...shown });
}

/** What to do if no daemon listens on the socket, by the option that selected it. */
const WITHOUT_DAEMON = {
  neither: 'Start the daemon, or name the configuration with --config: this command then works without a daemon.',
  nothing: 'Start the daemon, or set its configuration with --config or its socket with --socket.',
  config:
    'Start the daemon with this configuration. If it runs with another store, its socket is next to that: --socket PATH.',
  socket: 'Start the daemon, or look for its socket next to its store: the path of the store with .sock at its end.',
} as const;

function explain(error: NodeJS.ErrnoException, call: DaemonCall): CommandError {
  const place = daemonPlace(call);
  const how =
    'socketPath' in call
      ? WITHOUT_DAEMON[call.named ?? 'nothing']
      : 'Check that it is the address of server.listen and reachable from here.';
  switch (error.code ?? '') {
    case 'ENOENT':
    case 'ECONNREFUSED':
      return new CommandError(`no daemon listens on ${place}. ${how}`, { cause: error });
    case 'EACCES':
    case 'EPERM':
      return new CommandError(`this user cannot access ${place}: run the command as the daemon’s user.`, {
        cause: error,
      });
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return new CommandError(`the certificate of ${place} has no trusted issuer: ${issuerHelp(call)}.`, {
        cause: error,
      });
    default:
      return new CommandError(`the daemon on ${place} did not respond: ${whyNot(error, call)}`, { cause: error });
  }
}

function issuerHelp(call: DaemonCall): string {
  const isGiven = 'url' in call && call.tls?.ca !== undefined;
  return isGiven ? 'the given CA file does not have it' : 'add --ca-file FILE';
}

/** Explains a wrong scheme: the libraries' messages do not name the right one. */
function whyNot(error: NodeJS.ErrnoException, call: DaemonCall): string {
  if (error.message.includes('wrong version number')) return 'it does not use TLS; use an address with http://.';
  if ('url' in call && call.url.protocol === 'http:' && error.code === 'ECONNRESET') {
    return `${error.message}. If it uses TLS, use an address with https://.`;
  }
  if ('url' in call && call.url.protocol === 'https:' && mayBeRejection(error)) {
    return `it closed the connection (${error.message}). ${rejectionHelp(call.tls?.client)}`;
  }
  return error.message;
}
