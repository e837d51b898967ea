/** Agents for requests to other machines, through the proxies of the environment. */
import { Agent, request as requestHttp } from 'node:http';
import type { AgentOptions } from 'node:https';
import { proxySettings } from './proxies.ts';

export interface HttpAgent {
  readonly agent: Agent;
  readonly request: typeof requestHttp;
}

/**
 * @param protocol of the URLs, such as `https:`
 * @throws {Error} if a proxy is invalid
 */
export async function openAgent(protocol: string, settings: AgentOptions): Promise<HttpAgent> {
  const all = { ...settings, ...proxySettings(process.env) };
  if (protocol !== 'https:') return { request: requestHttp, agent: new Agent(all) };
  // Loaded only for TLS: a command without it saves 8 ms and 4 MB. A daemon has it anyway, by prom-client.
  const https = await import('node:https');
  return { request: https.request, agent: new https.Agent(all) };
}
