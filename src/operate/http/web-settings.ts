/**
 * Web configuration file in the format of Prometheus' exporters, and its result. Empty values count as absent, and
 * nothing is substituted in them.
 */
import * as z from 'zod/mini';
import { described, wholeNumber } from '#foundation/settings/blocks.ts';
import { parseDuration } from '#foundation/domain/duration.ts';
import type { Secret } from '#foundation/platform/secret.ts';
import { CIPHERS, CLIENT_AUTH, CURVES, VERSIONS, type WebTls } from './tls-settings.ts';

/** One web configuration file, checked, with the contents of its files. */
export interface WebConfig {
  /** Absent: plain HTTP. */
  readonly tls?: WebTls;
  /** Headers of every response. */
  readonly headers: Readonly<Record<string, string>>;
  /** Hashes of passwords (bcrypt), by user. */
  readonly users: ReadonlyMap<string, Secret>;
  /** Token bucket over all requests. */
  readonly rateLimit?: { readonly intervalMs: number; readonly burst: number };
  /** Hash of the file and of the files that it names. */
  readonly digest: string;
}

/** Kind of listener: a listener must be reopened to change it. */
export function listenerShape(web: WebConfig | undefined): string {
  const { tls } = web ?? {};
  if (tls === undefined) return 'plain';
  return tls.clientAuth === 'NoClientCert' ? 'TLS' : 'TLS with client certificates';
}

function keysOf<T extends object>(table: T): [keyof T & string, ...(keyof T & string)[]] {
  return Object.keys(table) as [keyof T & string, ...(keyof T & string)[]];
}

const text = (what: string) => described(what, z.nullish(z.string()));
const OLD_VERSION = 'expected TLS12 or TLS13; older versions are insecure and not supported';
const version = (what: string) => described(what, z.nullish(z.enum(keysOf(VERSIONS), OLD_VERSION)));

const tlsServerConfig = () =>
  z.strictObject({
    cert_file: text('File with the certificate and its intermediate certificates, PEM.'),
    key_file: text('File with the key of the certificate, PEM.'),
    cert: text('The certificate itself, instead of the file.'),
    key: text('The key itself, instead of the file.'),
    client_auth_type: described(
      'Rule for client certificates. RequireAndVerifyClientCert rejects clients without a valid one.',
      z.nullish(z.enum(['', ...CLIENT_AUTH, 'RequireClientCert'])),
    ),
    client_ca_file: text('File with the authorities of client certificates, PEM.'),
    client_ca: text('The authorities themselves, instead of the file.'),
    client_allowed_sans: described(
      'Accepted names (DNS, IP, e-mail, URI). A client certificate must have at least one of them.',
      z.nullish(z.array(z.string())),
    ),
    min_version: version('Minimum TLS version.'),
    max_version: version('Maximum TLS version.'),
    cipher_suites: described('Cipher suites of TLS 1.2.', z.nullish(z.array(z.enum(keysOf(CIPHERS))))),
    prefer_server_cipher_suites: described('True prefers the server’s order of cipher_suites.', z.nullish(z.boolean())),
    curve_preferences: described(
      'Elliptic curves of the key exchange, in order of preference.',
      z.nullish(z.array(z.enum(keysOf(CURVES)))),
    ),
  });

function asText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** Header value as a string: YAML reads `1` as a number, and a blank value omits the header. */
const header = (what: string, values?: readonly string[]) =>
  described(
    what,
    z.optional(
      z.pipe(
        z.unknown().check(
          z.superRefine((value, context) => {
            const given = asText(value);
            const isText = ['string', 'number', 'undefined'].includes(typeof value) || value === null;
            if (!isText || !/^[\t\x20-\x7e\x80-\xff]*$/.test(given)) {
              context.addIssue({ code: 'custom', message: 'invalid header value; write one line of text' });
            } else if (given !== '' && values?.includes(given) === false) {
              context.addIssue({ code: 'custom', message: `must be ${values.join(' or ')}` });
            }
          }),
        ),
        z.transform(asText),
      ),
    ),
  );

const httpServerConfig = () =>
  z.strictObject({
    http2: described(
      'Accepted without effect: the daemon always uses HTTP/1.1, which suffices for scrapes.',
      z.nullish(z.boolean()),
    ),
    headers: described(
      'Headers of every response.',
      z.nullish(
        z.strictObject({
          'Content-Security-Policy': header('Header of every response.'),
          'X-Frame-Options': header('Header of every response.', ['deny', 'sameorigin']),
          'X-Content-Type-Options': header('Header of every response.', ['nosniff']),
          'X-XSS-Protection': header('Header of every response.'),
          'Strict-Transport-Security': header('Header of every response.'),
        }),
      ),
    ),
  });

const INTERVAL = 'expected a duration such as 1s or 100ms, or 0 for no limit';

const rateLimit = () =>
  z.strictObject({
    interval: described(
      'Time between two requests; 0 for no limit.',
      z.optional(
        z.pipe(
          z.unknown(),
          z.transform((value, { issues }): number => {
            if (value === undefined || value === null || value === 0 || value === '0') return 0;
            const ms = typeof value === 'string' ? parseDuration(value) : undefined;
            if (ms === undefined) issues.push({ code: 'custom', message: INTERVAL, input: value });
            return ms ?? 0;
          }),
        ),
      ),
    ),
    burst: described('Maximum number of requests at once.', z.nullish(wholeNumber(0))),
  });

const fileSettings = () =>
  z.strictObject({
    tls_server_config: described('TLS; without it plain HTTP.', z.nullish(tlsServerConfig())),
    http_server_config: described('Settings of HTTP responses.', z.nullish(httpServerConfig())),
    basic_auth_users: described(
      'Users, and the bcrypt hashes of their passwords.',
      z.nullish(z.record(z.string(), z.string('expected a bcrypt hash; create one with htpasswd -nBC 10 ""'))),
    ),
    rate_limit: described('Rate limit of all requests together.', z.nullish(rateLimit())),
  });

let made: ReturnType<typeof fileSettings> | undefined;

/** Returns the schema of the file. It is created at its first use, since most configurations name no such file. */
export function webSettings(): ReturnType<typeof fileSettings> {
  return (made ??= fileSettings());
}

export type WebSettings = z.output<ReturnType<typeof fileSettings>>;
