/** Requests over TLS with an authority of the test's own, and whatever else is shown. */
import { Agent, request, type AgentOptions } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';

export interface HttpsAnswer {
  readonly status: number;
  readonly text: string;
  /** Of the certificate that the server showed. */
  readonly serial: string;
  /** Whether it came over a connection of before. */
  readonly isReused: boolean;
}

export interface HttpsOptions {
  readonly method?: 'GET' | 'POST';
  readonly authorization?: string;
  readonly body?: string;
}

/** A client with connections of its own, which end with the test. Rejects when there is no answer. */
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
          // Its connection is free for the next one a moment later.
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
