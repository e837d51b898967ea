/**
 * Proxies of the environment: HTTP_PROXY and HTTPS_PROXY, except for the hosts of NO_PROXY. A name in lower case takes
 * precedence.
 */
import type { AgentOptions } from 'node:http';
import { isIPv4 } from 'node:net';
import { rememberSecret } from '../domain/known-secrets.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const HTTP = ['http_proxy', 'HTTP_PROXY'] as const;
const HTTPS = ['https_proxy', 'HTTPS_PROXY'] as const;

/** This machine, which a proxy cannot reach. */
const LOOPBACK = ['localhost', '127.0.0.0/8', '::1', '[::1]'];

/** Returns the variables that have an invalid proxy. */
export function invalidProxies(env: Environment): readonly string[] {
  return [HTTP, HTTPS].flatMap((names) => {
    const name = names.find((one) => env[one]);
    return name === undefined || parseProxy(env[name]!) !== undefined ? [] : [name];
  });
}

/**
 * Returns the option of an agent; nothing without a proxy.
 *
 * @throws {Error} if a proxy is invalid
 */
export function proxySettings(env: Environment): Pick<AgentOptions, 'proxyEnv'> {
  if (![...HTTP, ...HTTPS].some((name) => env[name])) return {};
  // Node's own error would contain the password.
  for (const name of invalidProxies(env)) throw new Error(`${name} must be the http:// or https:// URL of a proxy`);
  const exceptions = (env['no_proxy'] || env['NO_PROXY'] || '').split(/[\s,]+/).filter((entry) => entry !== '');
  return {
    proxyEnv: {
      http_proxy: proxyOf(env, HTTP),
      https_proxy: proxyOf(env, HTTPS),
      no_proxy: [...exceptions, ...LOOPBACK].flatMap(nodeEntries).join(','),
    },
  };
}

function proxyOf(env: Environment, names: readonly string[]): string | undefined {
  const name = names.find((one) => env[one]);
  const url = name === undefined ? undefined : parseProxy(env[name]!);
  // Some proxies take a token as the user.
  if (url !== undefined) rememberSecret(url.password === '' ? url.username : url.href);
  return url?.href;
}

/** Accepts `proxy.example:3128`, as other programs do. */
function parseProxy(text: string): URL | undefined {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  try {
    // Node decodes them and would throw.
    decodeURIComponent(`${url.username}${url.password}`);
    return url;
  } catch {
    return undefined;
  }
}

/** Converts an entry of NO_PROXY: a domain includes its subdomains, and Node has ranges in place of networks. */
function nodeEntries(entry: string): readonly string[] {
  const [, address = '', bits] = /^([\d.]+)\/(\d+)$/.exec(entry) ?? [];
  if (!isIPv4(address)) return [entry, `.${entry}`];
  const size = 2 ** (32 - Number(bits));
  const number = address.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0);
  const first = Math.floor(number / size) * size;
  return [`${dotted(first)}-${dotted(first + size - 1)}`];
}

function dotted(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.');
}
