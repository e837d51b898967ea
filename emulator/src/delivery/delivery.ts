/**
 * One delivery attempt over HTTP. It always ends in an outcome, within the message's timeout on the service's clock. If
 * the destination is unreachable, hangs, resets or sends an invalid response, the outcome has an error text.
 */
import type { LookupFunction } from 'node:net';
import type { Agent, Dispatcher } from 'undici';
import type { Clock } from '#foundation/platform/clock.ts';
import { TimeoutError, withTimeout } from '#foundation/platform/sleep.ts';
import type { HeaderPair, Method, Outcome } from '../state/message.ts';
import { PrivateDestinationError, privateKindOfUrl, publicLookup } from './private-destinations.ts';

/** Maximum bytes kept of a response body. */
const MAX_BODY_BYTES = 65_536;
const CONNECT_MS = 10_000;

export interface DelivererOptions {
  readonly clock: Clock;
  /** Maximum connections to one origin. */
  readonly connections: number;
  readonly portOf: PortOf;
  /** Returns true if private destinations are rejected. Destinations with a port of `portOf` are always allowed. */
  readonly refusesPrivate: () => boolean;
  /** Name lookup; default the system's. */
  readonly lookup?: LookupFunction;
}

/**
 * Returns the loopback port of a destination; undefined if the destination is where its URL points. Called once per
 * attempt. Requests to such a port use plain HTTP; URL and Host header do not change.
 */
export type PortOf = (destination: URL) => number | undefined;

export interface Attempt {
  readonly url: string;
  readonly method: Method;
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array;
  readonly timeoutMs: number;
  /** Requested bytes of the response body, beyond those that are kept. */
  readonly answerBytes?: number;
}

export interface Delivered extends Outcome {
  /** The requested part of the response body; absent when it is not longer than the kept part. */
  readonly wanted?: Uint8Array;
}

export class Deliverer {
  readonly #options: DelivererOptions;
  #agents: Promise<Agents> | undefined;

  constructor(options: DelivererOptions) {
    this.#options = options;
  }

  /**
   * Sends the request. The status decides the outcome: after a 2xx the message is delivered, even if the rest of the
   * response is lost.
   *
   * Rejects only with the reason of `signal`.
   */
  async deliver(attempt: Attempt, signal: AbortSignal): Promise<Delivered> {
    const answer: Answer = { response: undefined, chunks: [] };
    try {
      await withTimeout(this.#options.clock, attempt.timeoutMs, signal, (timed) =>
        this.#exchange(attempt, answer, timed),
      );
    } catch (error) {
      signal.throwIfAborted();
      if (answer.response === undefined) {
        const told = error instanceof TimeoutError ? `timeout: no answer within ${attempt.timeoutMs} ms` : tell(error);
        return { delivered: false, headers: {}, body: NOTHING, error: told };
      }
    }
    return outcomeOf(answer.response!, answer.chunks);
  }

  async #exchange(attempt: Attempt, answer: Answer, signal: AbortSignal): Promise<void> {
    const { url, path } = splitUrl(attempt.url);
    const { portOf, refusesPrivate } = this.#options;
    const port = portOf(url);
    const isPublic = port === undefined && refusesPrivate();
    const kind = isPublic ? privateKindOfUrl(url) : undefined;
    if (kind !== undefined) throw new PrivateDestinationError(`${url.hostname} is ${kind}`);
    const agents = await (this.#agents ??= openAgents(this.#options));
    answer.response = await (isPublic ? agents.toPublic : agents.toAny).request({
      origin: port === undefined ? url.origin : `http://127.0.0.1:${port}`,
      path,
      method: attempt.method,
      headers: [...(port === undefined ? [] : ['Host', url.host]), ...attempt.headers.flat()],
      body: attempt.body.length === 0 ? null : attempt.body,
      signal,
    });
    const most = Math.max(attempt.answerBytes ?? 0, MAX_BODY_BYTES);
    let length = 0;
    for await (const chunk of answer.response.body as AsyncIterable<Buffer>) {
      answer.chunks.push(chunk.subarray(0, most - length));
      length += chunk.length;
      if (length >= most) break;
    }
  }

  async close(): Promise<void> {
    const agents = await this.#agents;
    await Promise.all([agents?.toPublic.destroy(), agents?.toAny.destroy()]);
  }
}

function outcomeOf(
  { statusCode: status, headers: given }: Dispatcher.ResponseData,
  chunks: readonly Buffer[],
): Delivered {
  const headers = Object.fromEntries(
    Object.entries(given).filter((header): header is [string, string | string[]] => header[1] !== undefined),
  );
  const delivered = isSuccess(status);
  const whole = Buffer.concat(chunks);
  const more = whole.length > MAX_BODY_BYTES;
  // Copied, so that the kept part holds neither the rest nor Node's buffer pool in memory.
  const body = new Uint8Array(whole.subarray(0, MAX_BODY_BYTES));
  const error = `destination answered ${status}`;
  return { delivered, status, headers, body, ...(!delivered && { error }), ...(more && { wanted: whole }) };
}

/** `toPublic` connects only to public addresses. An open connection of `toAny` may lead to any address. */
interface Agents {
  readonly toPublic: Agent;
  readonly toAny: Agent;
}

/** Opened by the first delivery: an idle emulator does not load undici, which takes 8 MB. */
async function openAgents({ connections, lookup }: DelivererOptions): Promise<Agents> {
  const { Agent, buildConnector } = await import('#foundation/platform/undici.ts');
  const open = (resolve: LookupFunction | undefined): Agent =>
    new Agent({
      connections,
      // The message's timeout on the service's clock replaces these.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: buildConnector({
        timeout: CONNECT_MS,
        allowH2: false,
        ...(resolve !== undefined && { lookup: resolve }),
      }),
    });
  return { toPublic: open(publicLookup(lookup)), toAny: open(lookup) };
}

/** Response, filled in as it arrives, so that an error keeps the earlier parts. */
interface Answer {
  response: Dispatcher.ResponseData | undefined;
  readonly chunks: Buffer[];
}

const NOTHING = new Uint8Array();

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/**
 * Splits a destination into URL and path. The path stays as written: parsing would resolve dots and rewrite escapes. A
 * fragment is not sent.
 */
function splitUrl(url: string): { readonly url: URL; readonly path: string } {
  const rest = /^https?:\/\/[^/?#]*([^#]*)/i.exec(url)?.[1] ?? '';
  return { url: new URL(url), path: rest.startsWith('/') ? rest : `/${rest}` };
}

/** Returns error code and message, code first. Connection errors of a name with several addresses have no message. */
function tell(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = (error as NodeJS.ErrnoException).code;
  if (code === undefined || error.message.includes(code)) return error.message;
  return error.message === '' ? code : `${code}: ${error.message}`;
}
