/** One request to the running daemon, over its unix socket or its address, and its JSON answer. */
import { request as httpRequest, type ClientRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { withOwnCommands, type OwnCommand } from '#foundation/domain/own-command.ts';
import { CommandError } from './command.ts';
import { printable } from './output.ts';

const MAX_ANSWER_BYTES = 64 * 1_048_576;

export type DaemonCall = (
  | { readonly socketPath: string }
  | {
      readonly url: URL;
      /** The whole header; never shown. */
      readonly authorization?: string;
      /** PEM: whom to believe, and what to show. */
      readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
    }
) & {
  readonly signal: AbortSignal;
  /** Writes a command for this daemon that runs as it is printed. */
  readonly command: OwnCommand;
};

export interface Exchange {
  readonly method: 'GET' | 'POST';
  /** From `/` on. */
  readonly path: string;
  readonly body?: unknown;
}

/** @throws {CommandError} when no daemon answers, or it refuses */
export async function exchange(call: DaemonCall, asked: Exchange): Promise<Readonly<Record<string, unknown>>> {
  const { status, text } = await send(call, asked);
  let value: unknown;
  try {
    value = withOwnCommands(JSON.parse(text) as unknown, call.command);
  } catch {
    throw new CommandError(`what listens on ${placeOf(call)} is not opsd: it did not answer with JSON`);
  }
  if (!isRecord(value)) throw new CommandError(`what listens on ${placeOf(call)} is not opsd`);
  if (status === 200) return value;
  const { error } = value;
  const said = isRecord(error) && typeof error['message'] === 'string' ? printable(error['message']) : `HTTP ${status}`;
  throw new CommandError(`the daemon refused: ${said}`);
}

/** Whether nothing listens where a daemon was asked for. */
export function isNobodyThere(error: unknown): boolean {
  if (!(error instanceof CommandError)) return false;
  const { code } = (error.cause ?? {}) as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ECONNREFUSED';
}

export function placeOf(call: DaemonCall): string {
  return 'socketPath' in call ? call.socketPath : call.url.origin;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function send(call: DaemonCall, asked: Exchange): Promise<{ status: number; text: string }> {
  const { signal } = call;
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      reject(signal.aborted ? (signal.reason as Error) : explain(error, call));
    };
    const sent = open(call, asked);
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes > MAX_ANSWER_BYTES) response.destroy(new Error('its answer is too long'));
      });
      response.on('error', fail);
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') });
      });
    });
    sent.on('error', fail);
    sent.end(asked.body === undefined ? undefined : JSON.stringify(asked.body));
  });
}

/** Follows no redirect, so that a token goes to the address that was named and to no other. */
function open(call: DaemonCall, { method, path }: Exchange): ClientRequest {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' };
  const options: RequestOptions = { method, signal: call.signal, agent: false, headers };
  if ('socketPath' in call) return httpRequest({ ...options, socketPath: call.socketPath, path });
  if (call.authorization !== undefined) headers['Authorization'] = call.authorization;
  const target = new URL(call.url.pathname.replace(/\/$/, '') + path, call.url);
  return target.protocol === 'https:'
    ? httpsRequest(target, { ...options, ...call.tls })
    : httpRequest(target, options);
}

function explain(error: NodeJS.ErrnoException, call: DaemonCall): CommandError {
  const place = placeOf(call);
  const how =
    'socketPath' in call
      ? 'Start the daemon, or name its configuration with --config or its socket with --socket.'
      : 'Is it the address of server.listen, and can it be reached from here?';
  switch (error.code ?? '') {
    case 'ENOENT':
    case 'ECONNREFUSED':
      return new CommandError(`no daemon listens on ${place}. ${how}`, { cause: error });
    case 'EACCES':
    case 'EPERM':
      return new CommandError(`this user may not use ${place}: run the command as the user of the daemon.`, {
        cause: error,
      });
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return new CommandError(`nobody known here has signed the certificate of ${place}: give --ca-file FILE.`, {
        cause: error,
      });
    default:
      return new CommandError(`the daemon on ${place} did not answer: ${whyNot(error, call)}`, { cause: error });
  }
}

/** What the libraries say of the wrong scheme tells nobody which one is right. */
function whyNot(error: NodeJS.ErrnoException, call: DaemonCall): string {
  if (error.message.includes('wrong version number')) return 'it speaks no TLS; the address begins with http://.';
  if ('url' in call && call.url.protocol === 'http:' && error.code === 'ECONNRESET') {
    return `${error.message}. Where it speaks TLS, the address begins with https://.`;
  }
  return error.message;
}
