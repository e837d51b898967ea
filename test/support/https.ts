/** Requests over TLS with an authority of the test, and the facts of each response. */
import { Agent, request, type AgentOptions } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';

export interface HttpsAnswer {
  readonly status: number;
  readonly text: string;
  /** Serial number of the server's certificate. */
  readonly serial: string;
  /** True if it used an existing connection. */
  readonly isReused: boolean;
}

export interface HttpsOptions {
  readonly method?: 'GET' | 'POST';
  readonly authorization?: string;
  readonly body?: string;
}

/** Creates a client whose connections end with the test. Rejects without a response. */
export function httpsClient(options: AgentOptions) {
  const agent = new Agent(options);
  onTestFinished(() => agent.destroy());
  return (url: string, { method = 'GET', authorization, body }: HttpsOptions = {}): Promise<HttpsAnswer> =>
    new Promise((resolve, reject) => {
      const headers = authorization === undefined ? {} : { Authorization: authorization };
      const sent = request(url, { method, agent, headers }, (response) => {
        const serial = (response.socket as TLSSocket).getPeerX509Certificate()?.serialNumber ?? '';
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const seen = { status: response.statusCode!, text, serial, isReused: sent.reusedSocket };
          // The connection becomes free one turn later.
          setImmediate(() => resolve(seen));
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
}

export function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}
