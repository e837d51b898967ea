/** Minimal client of the sample traffic. It shares no code with the daemon's client. Credentials stay in this file. */
import { Pool } from '#foundation/platform/undici.ts';

const MAX_CONNECTIONS = 8;

export interface SampleClientOptions {
  readonly emulatorUrl: string;
  readonly token: string;
  readonly headerPrefix: string;
  readonly management: { readonly username: string; readonly password: string };
  /** Aborts every request. */
  readonly signal: AbortSignal;
}

/** Methods reject with status and reason when the service returns an error. */
export class SampleClient {
  readonly #pool: Pool;
  readonly #prefix: string;
  readonly #bearer: string;
  readonly #basic: string;
  readonly #signal: AbortSignal;

  constructor(options: SampleClientOptions) {
    const { username, password } = options.management;
    this.#pool = new Pool(new URL(options.emulatorUrl).origin, { connections: MAX_CONNECTIONS });
    this.#signal = options.signal;
    this.#prefix = options.headerPrefix;
    this.#bearer = `Bearer ${options.token}`;
    this.#basic = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  }

  message(
    method: 'POST' | 'DELETE',
    path: string,
    request: { readonly headers?: Readonly<Record<string, string>>; readonly body?: object },
  ): Promise<unknown> {
    const own = Object.entries(request.headers ?? {}).map(([name, value]) => [`${this.#prefix}-${name}`, value]);
    return this.#request(method, path, { ...request, authorization: this.#bearer, headers: Object.fromEntries(own) });
  }

  management(method: 'POST' | 'PATCH', path: string, body: object): Promise<unknown> {
    return this.#request(method, path, { authorization: this.#basic, headers: {}, body });
  }

  async close(): Promise<void> {
    if (!this.#pool.destroyed) await this.#pool.destroy();
  }

  async #request(
    method: 'POST' | 'PATCH' | 'DELETE',
    path: string,
    request: {
      readonly authorization: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body?: object;
    },
  ): Promise<unknown> {
    const response = await this.#pool.request({
      method,
      path,
      headers: {
        ...request.headers,
        authorization: request.authorization,
        ...(request.body !== undefined && { 'content-type': 'application/json' }),
      },
      body: request.body === undefined ? null : JSON.stringify(request.body),
      signal: this.#signal,
      headersTimeout: 10_000,
      bodyTimeout: 10_000,
    });
    const text = await response.body.text();
    if (response.statusCode < 200 || response.statusCode > 299) {
      throw new Error(
        `the service rejected the sample traffic: ${method} ${path} answered ${response.statusCode} ${text}`,
      );
    }
    return text === '' ? undefined : JSON.parse(text);
  }
}
