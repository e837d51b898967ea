/** Endpoint for spans: from the configuration, else from the environment variables that OpenTelemetry defines. */
import { readFileSync } from 'node:fs';
import { rememberSecrets } from '#foundation/domain/known-secrets.ts';
import { clientPair, type ClientPair } from '#foundation/platform/client-pair.ts';
import { withPath } from '#foundation/platform/http-post.ts';
import type { TraceSettings } from './settings.ts';

export type Env = Readonly<Record<string, string | undefined>>;

export interface OtlpEndpoint {
  /** Complete URL of the traces endpoint. */
  readonly url: string;
  readonly protocol: 'http/protobuf' | 'http/json';
  readonly headers: Readonly<Record<string, string>>;
  readonly compression: 'gzip' | 'none';
  /** Timeout of one batch including retries, in milliseconds. */
  readonly timeoutMs: number;
  readonly tls: { readonly ca?: Buffer };
  readonly client?: () => ClientPair;
}

const TRACES = '/v1/traces';
const DEFAULT_TIMEOUT_MS = 10_000;

/**
 * @param onIgnored called with the name of a variable that has no effect
 * @returns undefined if no endpoint is configured, or if the environment disables tracing for an endpoint that it names
 * @throws {Error} if a variable is invalid; the message has its name, never its value
 */
export function otlpEndpoint(
  settings: TraceSettings,
  env: Env,
  onIgnored: (variable: string) => void = () => undefined,
): OtlpEndpoint | undefined {
  const url = settings.otlp === undefined ? urlFromEnv(env) : withPath(settings.otlp.url, TRACES);
  if (url === undefined) return undefined;
  return {
    url,
    protocol: settings.otlp?.protocol ?? protocolFromEnv(env, onIgnored),
    headers: rememberSecrets({ ...headersFromEnv(env), ...lowerCased(settings.otlp?.headers ?? {}) }),
    compression: valueOf(env, 'COMPRESSION')?.value === 'gzip' ? 'gzip' : 'none',
    timeoutMs: timeoutFromEnv(env),
    ...tlsFromEnv(env),
  };
}

/** Returns the variable for traces, else the one for all signals. An empty variable counts as absent. */
function valueOf(env: Env, what: string): { readonly name: string; readonly value: string } | undefined {
  for (const name of [`OTEL_EXPORTER_OTLP_TRACES_${what}`, `OTEL_EXPORTER_OTLP_${what}`]) {
    const value = env[name]?.trim();
    if (value !== undefined && value !== '') return { name, value };
  }
  return undefined;
}

function urlFromEnv(env: Env): string | undefined {
  const found = valueOf(env, 'ENDPOINT');
  const isOff =
    env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true' || env['OTEL_TRACES_EXPORTER']?.trim() === 'none';
  if (found === undefined || isOff) return undefined;
  const url = URL.parse(found.value);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new Error(`${found.name} is not an http or https URL: correct it, or set telemetry.traces.otlp.url`);
  }
  return found.name.includes('_TRACES_') ? url.href : withPath(found.value, TRACES);
}

/** A variable for other programs of the cluster, such as `grpc`, must not keep the daemon from starting. */
function protocolFromEnv(env: Env, onIgnored: (variable: string) => void): OtlpEndpoint['protocol'] {
  const found = valueOf(env, 'PROTOCOL');
  if (found?.value === 'http/json') return 'http/json';
  if (found !== undefined && found.value !== 'http/protobuf') onIgnored(found.name);
  return 'http/protobuf';
}

/**
 * Returns the headers from `key=value` pairs, percent-encoded and separated by commas. The variable for traces takes
 * precedence.
 */
function headersFromEnv(env: Env): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS']) {
    for (const pair of (env[name] ?? '').split(',')) {
      if (pair.trim() === '') continue;
      const at = pair.indexOf('=');
      const key = pair.slice(0, Math.max(0, at)).trim().toLowerCase();
      const value = decoded(pair.slice(at + 1).trim());
      if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(key) || value === undefined) {
        throw new Error(`${name} must be key=value pairs, percent-encoded and separated by commas`);
      }
      headers[key] = value;
    }
  }
  return headers;
}

function decoded(text: string): string | undefined {
  try {
    const value = decodeURIComponent(text);
    return /\p{Cc}/u.test(value) ? undefined : value;
  } catch {
    return undefined;
  }
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function timeoutFromEnv(env: Env): number {
  const ms = Number(valueOf(env, 'TIMEOUT')?.value);
  return Number.isFinite(ms) && ms > 0 ? ms : DEFAULT_TIMEOUT_MS;
}

function tlsFromEnv(env: Env): Pick<OtlpEndpoint, 'tls' | 'client'> {
  const [ca, cert, key] = ['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY'].map((what) => valueOf(env, what));
  const tls = ca === undefined ? {} : { ca: readFrom(ca, () => readFileSync(ca.value)) };
  if (cert === undefined && key === undefined) return { tls };
  if (cert === undefined || key === undefined) {
    const missing = cert === undefined ? 'CLIENT_CERTIFICATE' : 'CLIENT_KEY';
    throw new Error(`${(cert ?? key)!.name} needs OTEL_EXPORTER_OTLP_${missing}`);
  }
  const client = clientPair({ certFile: cert.value, keyFile: key.value });
  client();
  return { tls, client };
}

function readFrom<T>({ name, value }: { readonly name: string; readonly value: string }, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`${name}: file ${value} cannot be read`, { cause: error });
  }
}
