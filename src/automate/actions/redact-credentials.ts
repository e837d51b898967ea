/**
 * Redacts the credentials in an entry's row. A credential becomes `REDACTED:<sha256>`, the format that the service
 * itself uses. The hash has no salt, so entries can be compared with each other, with a known key, and with values that
 * the service redacted. The hash of a guessable password can therefore be guessed. Bodies are not redacted.
 */
import { isRecord } from '#foundation/domain/json.ts';
import { createHash } from 'node:crypto';
import { mayNameCredential } from '#foundation/domain/credential-names.ts';
import { unescaped } from '#foundation/domain/known-secrets.ts';

/** Header fields: `header`, `responseHeader`, and any other name that ends so. */
const HEADERS = /headers?$/i;
// A token is searched from the start of its run of characters: each run is read once.
const CREDENTIAL_VALUE =
  /^\s*(?:bearer|basic|digest|negotiate|hawk|token|api-?key|aws4-hmac-sha256)\s|(?<![\w-])(?=[\w-]+\.[\w-]+\.)(?:[\w-]*-)?eyJ[\w-]/i;
/** Fields with message bodies, which are archived unchanged. */
const BODIES: ReadonlySet<string> = new Set(['body', 'bodyBase64', 'responseBody', 'responseBodyBase64']);
const REDACTED = /^REDACTED:[0-9a-f]{64}$/i;

type Row = Readonly<Record<string, unknown>>;

export function redactCredentials(row: Row): Row {
  return mapValues(row, (name, value) => (BODIES.has(name) && typeof value === 'string' ? value : field(name, value)));
}

function field(name: string, value: unknown): unknown {
  if (mayNameCredential(name)) return redactAll(value);
  // Headers that are not a mapping of names to values cannot be classified, so all of them are redacted.
  if (HEADERS.test(name)) return isRecord(value) ? mapValues(value, header) : redactAll(value);
  if (Array.isArray(value)) return value.map((item) => field(name, item));
  if (isRecord(value)) return mapValues(value, field);
  return typeof value === 'string' ? redactUrl(value) : value;
}

function header(name: string, value: unknown): unknown {
  if (mayNameCredential(name)) return redactAll(value);
  if (Array.isArray(value)) return value.map((item) => header(name, item));
  if (isRecord(value)) return mapValues(value, header);
  if (typeof value !== 'string') return value;
  return CREDENTIAL_VALUE.test(value) ? redacted(value) : redactUrl(value);
}

/** Redacts every value below a credential's name; the names stay. */
function redactAll(value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (Array.isArray(value)) return value.map(redactAll);
  if (isRecord(value)) return mapValues(value, (_name, item) => redactAll(item));
  return redacted(typeof value === 'string' ? value : JSON.stringify(value));
}

/** Redacts user and password of a URL, and the values of parameters with names of credentials. */
function redactUrl(text: string): string {
  if (!/^\s*https?:/i.test(text)) return text;
  return text
    .replace(/^(\s*https?:[/\\]*)([^/\\?#]*)@/i, (_all, start: string, user: string) => `${start}${redacted(user)}@`)
    .replace(/([?&#;])([^?=&#;]*)=([^&#;]*)/g, (all, start: string, name: string, value: string) =>
      value !== '' && mayNameCredential(unescaped(name)) ? `${start}${name}=${redacted(value)}` : all,
    );
}

function redacted(value: string): string {
  return REDACTED.test(value) ? value : `REDACTED:${createHash('sha256').update(value).digest('hex')}`;
}

function mapValues(object: Row, map: (name: string, value: unknown) => unknown): Row {
  // `fromEntries` defines its members, so a field named __proto__ stays a field.
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(name, value)]));
}
