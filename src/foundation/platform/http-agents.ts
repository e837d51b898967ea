/** Agents for requests to other machines, through the proxies of the environment. */
import { Agent, request as requestHttp } from 'node:http';
import type { AgentOptions } from 'node:https';
import type { Socket } from 'node:net';
import { proxySettings } from './proxies.ts';

export interface HttpAgent {
  readonly agent: Agent;
  readonly request: typeof requestHttp;
}

/**
 * Memory for the bytes that arrive on any connection. Node otherwise takes 64 kB for each read, and its HTTP parser
 * copies what it passes on. A tunnel through a proxy ignores this.
 */
const arrived = {
  buffer: Buffer.allocUnsafeSlow(65_536),
  callback(this: Socket, length: number, bytes: Uint8Array): boolean {
    this.emit('data', bytes.subarray(0, length));
    return true;
  },
};

/**
 * @param protocol of the URLs, such as `https:`
 * @throws {Error} if a proxy is invalid
 */
export async function openAgent(protocol: string, settings: AgentOptions): Promise<HttpAgent> {
  const all = { ...settings, ...proxySettings(process.env), onread: arrived };
  if (protocol !== 'https:') return { request: requestHttp, agent: new Agent(all) };
  // Loaded only for TLS: a command without it saves 8 ms and 4 MB. A daemon has it anyway, by prom-client.
  const https = await import('node:https');
  return { request: https.request, agent: new https.Agent(all) };
}
