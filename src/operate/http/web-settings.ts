/**
 * The web configuration file that Prometheus' exporters share, as its format is documented, and what is made of it.
 * Empty values are as good as none there, and nothing is replaced in them.
 */
import { z } from 'zod';
import { parseDuration } from '#foundation/domain/duration.ts';
import type { Secret } from '#foundation/platform/secret.ts';
import { CIPHERS, CLIENT_AUTH, CURVES, VERSIONS, type WebTls } from './tls-settings.ts';

/** One web configuration file, checked and with all that it names. */
export interface WebConfig {
  /** Absent: plain HTTP. */
  readonly tls?: WebTls;
  /** Put onto every answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** Hashes of passwords (bcrypt), by user. */
  readonly users: ReadonlyMap<string, Secret>;
  /** A token bucket over all requests. */
  readonly rateLimit?: { readonly intervalMs: number; readonly burst: number };
  /** Over the file and those it names: another one says something else. */
  readonly digest: string;
}

/** Whether a listener must be opened anew to go from one to the other. */
export function listenerShape(web: WebConfig | undefined): string {
  const { tls } = web ?? {};
  if (tls === undefined) return 'plain';
  return tls.clientAuth === 'NoClientCert' ? 'TLS' : 'TLS that asks for certificates';
}

function keysOf<T extends object>(table: T): [keyof T & string, ...(keyof T & string)[]] {
  return Object.keys(table) as [keyof T & string, ...(keyof T & string)[]];
}

const text = (what: string) => z.string().nullish().describe(what);
const OLD_VERSION = 'expected TLS12 or TLS13; older versions are not safe, and not spoken here';
const version = (what: string) => z.enum(keysOf(VERSIONS), OLD_VERSION).nullish().describe(what);

const tlsServerConfig = z.strictObject({
  cert_file: text('File with the certificate, and those between it and the authority, PEM.'),
  key_file: text('File with the key of the certificate, PEM.'),
  cert: text('The certificate itself, in place of the file.'),
  key: text('The key itself, in place of the file.'),
  client_auth_type: z
    .enum(['', ...CLIENT_AUTH, 'RequireClientCert'])
    .nullish()
    .describe('Whether clients show a certificate; RequireAndVerifyClientCert keeps out those who have none.'),
  client_ca_file: text('File with the authorities of the certificates of clients, PEM.'),
  client_ca: text('The authorities themselves, in place of the file.'),
  client_allowed_sans: z
    .array(z.string())
    .nullish()
    .describe('Names (DNS, IP, e-mail, URI) of which the certificate of a client must have one.'),
  min_version: version('The oldest TLS that is spoken.'),
  max_version: version('The newest TLS that is spoken.'),
  cipher_suites: z
    .array(z.enum(keysOf(CIPHERS)))
    .nullish()
    .describe('Cipher suites of TLS 1.2.'),
  prefer_server_cipher_suites: z.boolean().nullish().describe('Whether the order of cipher_suites counts.'),
  curve_preferences: z
    .array(z.enum(keysOf(CURVES)))
    .nullish()
    .describe('Elliptic curves of the exchange of keys, the preferred one first.'),
});

function asText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** YAML reads `1` as a number; a value that is blank leaves the header out. */
const header = (what: string, values?: readonly string[]) =>
  z
    .unknown()
    .superRefine((value, context) => {
      const given = asText(value);
      const isText = ['string', 'number', 'undefined'].includes(typeof value) || value === null;
      if (!isText || !/^[\t\x20-\x7e\x80-\xff]*$/.test(given)) {
        context.addIssue({ code: 'custom', message: 'not a value of a header; write one line of text' });
      } else if (given !== '' && values?.includes(given) === false) {
        context.addIssue({ code: 'custom', message: `must be ${values.join(' or ')}` });
      }
    })
    .transform(asText)
    .optional()
    .describe(what);

const httpServerConfig = z.strictObject({
  http2: z.boolean().nullish().describe('Taken, and HTTP/1.1 is spoken: no client needs more of a scrape.'),
  headers: z
    .strictObject({
      'Content-Security-Policy': header('Put onto every answer.'),
      'X-Frame-Options': header('Put onto every answer.', ['deny', 'sameorigin']),
      'X-Content-Type-Options': header('Put onto every answer.', ['nosniff']),
      'X-XSS-Protection': header('Put onto every answer.'),
      'Strict-Transport-Security': header('Put onto every answer.'),
    })
    .nullish()
    .describe('Headers of every answer.'),
});

const INTERVAL = 'expected a duration such as 1s or 100ms, or 0 for no limit';

const rateLimit = z.strictObject({
  interval: z
    .unknown()
    .transform((value, context): number => {
      if (value === undefined || value === null || value === 0 || value === '0') return 0;
      const ms = typeof value === 'string' ? parseDuration(value) : undefined;
      if (ms === undefined) context.addIssue({ code: 'custom', message: INTERVAL });
      return ms ?? 0;
    })
    .optional()
    .describe('Time between two requests; 0 for no limit.'),
  burst: z.int().min(0).nullish().describe('Requests that may come at once.'),
});

export const webSettings = z.strictObject({
  tls_server_config: tlsServerConfig.nullish().describe('TLS; without it plain HTTP.'),
  http_server_config: httpServerConfig.nullish().describe('What is said with every answer.'),
  basic_auth_users: z
    .record(z.string(), z.string('expected a bcrypt hash; htpasswd -nBC 10 "" makes one'))
    .nullish()
    .describe('Users, and the bcrypt hashes of their passwords.'),
  rate_limit: rateLimit.nullish().describe('Requests that are taken, all together.'),
});

export type WebSettings = z.output<typeof webSettings>;
