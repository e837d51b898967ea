/**
 * Reads a web configuration file, and the certificates and keys that it names: strictly, all at once, and with every
 * problem as file:line:column. What comes out of here can be served with.
 */
import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { Secret } from '#foundation/platform/secret.ts';
import { webSettings, type WebConfig, type WebSettings } from '#operate/http/web-settings.ts';
import { checkSchema } from './check-schema.ts';
import { problemsOf, unread } from './file-problems.ts';
import type { Problem } from './problem.ts';
import { readSource } from './read-file.ts';
import { keysOf } from './schema-walk.ts';
import type { Fault, SourceText } from './source-text.ts';
import { WebMaterial } from './web-material.ts';
import { readWebTls } from './web-tls.ts';
import { readYaml } from './yaml-file.ts';
import { pathText, placeAt, type Place } from './yaml-place.ts';

export interface WebConfigRead {
  /** Undefined when there are problems that are no warnings. */
  readonly web?: WebConfig;
  readonly problems: readonly Problem[];
  /** What was read: the file, then those it names, in order. */
  readonly texts: readonly string[];
}

export interface WebConfigOptions {
  /** The path as people know it. */
  readonly shown: string;
  /** Why there can be no users; undefined where there can. */
  readonly noUsers?: string;
  /** Names that others have already, who could not be told from a user of the same name. */
  readonly taken: readonly string[];
}

export function readWebConfig(path: string, options: WebConfigOptions): WebConfigRead {
  const read = readSource(path, options.shown);
  if (!read.ok) return { problems: [unread(read)], texts: [] };
  const { source } = read;
  if (isBlank(source.text)) {
    return { problems: [source.problem({ start: 0, end: 1, path: '', ...EMPTY })], texts: [source.text] };
  }
  maskSecrets(source);
  const yaml = readYaml({ source, env: {}, isPlain: true });
  const { root } = yaml;
  if (root === undefined) return { problems: problemsOf(yaml, []), texts: [source.text] };
  maskUnknown(root, source);
  const { value, faults } = checkSchema(webSettings, root);
  const ofUsers = usersFaults(placeAt(root, ['basic_auth_users']), options);
  if (value === undefined) return { problems: problemsOf(yaml, [...faults, ...ofUsers]), texts: [source.text] };

  const material = new WebMaterial(root, (file) => resolve(dirname(path), file));
  const tls = readWebTls(value.tls_server_config ?? {}, material);
  const limit = value.rate_limit;
  const told = [...material.faults, ...ofUsers, ...limitFaults(value.rate_limit, root)];
  const problems = problemsOf(yaml, told);
  const texts = [source.text, ...material.texts];
  if (problems.some(({ severity }) => severity === 'error')) return { problems, texts };
  const users = [...(placeAt(root, ['basic_auth_users'])?.entries ?? [])];
  const headers = Object.entries(value.http_server_config?.headers ?? {});
  const web: WebConfig = {
    ...(tls !== undefined && { tls }),
    headers: Object.fromEntries(
      headers.flatMap(([name, text]) => (text === undefined || text === '' ? [] : [[name, text]])),
    ),
    users: new Map(users.map(([name, place]) => [name, Secret.of(String(place.value))])),
    ...((limit?.interval ?? 0) > 0 && { rateLimit: { intervalMs: limit!.interval!, burst: limit!.burst! } }),
    digest: digestOf(texts),
  };
  return { web, problems, texts };
}

function digestOf(texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex');
}

/** Of a file that is being written, or that found no room on a disk, nothing must follow: least of all open doors. */
const EMPTY = { message: 'the file is empty', help: 'write {} where it is meant to ask for nothing' };

function isBlank(text: string): boolean {
  return text.split('\n').every((line) => /^\s*(?:#|$)/.test(line));
}

/** Wherever they stand, also in a file whose keys nobody can tell. */
function maskSecrets(source: SourceText): void {
  for (const match of source.text.matchAll(/\$2\w?\$\S+|-----BEGIN [^-]*PRIVATE KEY-----[^-]*/g)) {
    source.mask(match.index, match.index + match[0].length);
  }
}

/** A misspelt `key` is no less one, and users under another name have passwords too. */
function maskUnknown(root: Place, source: SourceText): void {
  for (const [at, schema] of [
    [root, webSettings],
    [placeAt(root, ['tls_server_config']), webSettings.shape.tls_server_config],
  ] as const) {
    const known = keysOf(schema);
    for (const [key, place] of at?.entries ?? []) {
      if (!known.has(key)) source.mask(place.start, place.end);
    }
  }
}

/** What a login may cost at most: each step up doubles it, and 15 takes seconds. */
const HIGHEST_COST = 15;
const HASH = /^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/;
const OWN_NAMES = ['local', 'engine', 'anonymous'];

function usersFaults(users: Place | undefined, { noUsers, taken }: WebConfigOptions): Fault[] {
  const faults: Fault[] = [];
  for (const [name, place] of users?.entries ?? []) {
    const path = pathText(['basic_auth_users', name]);
    const key = place.key ?? place;
    const atKey = { start: key.start, end: key.end, path };
    const hash = typeof place.value === 'string' ? place.value : '';
    if (noUsers !== undefined) {
      faults.push({ ...atKey, message: 'there can be no users here', help: noUsers });
      return faults;
    }
    if (!/^[^:\p{C}]{1,200}$/u.test(name)) {
      faults.push({
        ...atKey,
        message: 'not a name of a user',
        help: 'write 1 to 200 visible characters, and no colon',
      });
    } else if ([...OWN_NAMES, ...taken].includes(name)) {
      const help = 'the audit log could not tell who it was: give the user another name';
      faults.push({ ...atKey, message: `${name} is the name of somebody else`, help });
    }
    if (!HASH.test(hash)) {
      const help = 'htpasswd -nBC 10 "" | tr -d \':\\n\' asks for the password and prints its hash';
      faults.push({ start: place.start, end: place.end, path, message: 'not a bcrypt hash', help });
    } else if (costOf(hash) > HIGHEST_COST || costOf(hash) < 4) {
      const message = `the cost of this hash is ${costOf(hash)}, and 4 to ${HIGHEST_COST} can be checked`;
      faults.push({ start: place.start, end: place.end, path, message, help: 'make one with the cost 10' });
    }
  }
  return faults;
}

function costOf(hash: string): number {
  return Number(hash.slice(4, 6));
}

function limitFaults(limit: WebSettings['rate_limit'], root: Place): Fault[] {
  if ((limit?.interval ?? 0) === 0 || (limit?.burst ?? 0) > 0) return [];
  const place = placeAt(root, ['rate_limit', 'burst']) ?? placeAt(root, ['rate_limit', 'interval'])!;
  const message = 'with an interval and a burst of 0 no request would ever be taken';
  return [
    { start: place.start, end: place.end, path: 'rate_limit.burst', message, help: 'write how many may come at once' },
  ];
}
