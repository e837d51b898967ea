/**
 * Reader of a web configuration file with its certificates and keys: strictly, all at once, with every problem as
 * file:line:column. A listener can use the result.
 */
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { Secret } from '#foundation/platform/secret.ts';
import { webSettings, type WebConfig, type WebSettings } from '#operate/http/web-settings.ts';
import { checkSchema } from './check-schema.ts';
import type { ConfigProblem } from './problem.ts';
import { readSource } from './read-file.ts';
import { keysOf } from './schema-walk.ts';
import type { Fault, SourceText } from './source-text.ts';
import { WebMaterial } from './web-material.ts';
import { readWebTls } from './web-tls.ts';
import { problemsOf, readYaml, unreadProblem } from './yaml-file.ts';
import { faultAt, faultAtKey, placeAt, type Place } from './yaml-place.ts';

export interface WebConfigRead {
  /** Undefined if there are errors. */
  readonly web?: WebConfig;
  readonly problems: readonly ConfigProblem[];
  /** Contents of the file, then of the files that it names, in order. */
  readonly texts: readonly string[];
}

export interface WebConfigOptions {
  /** Displayed path. */
  readonly shown: string;
  /** Reason why users are not allowed; undefined if they are. */
  readonly noUsers?: string;
  /** Names of tokens, which users must not share. */
  readonly taken: readonly string[];
}

export function readWebConfig(path: string, options: WebConfigOptions): WebConfigRead {
  const read = readSource(path, options.shown);
  if (!read.ok) return { problems: [unreadProblem(read)], texts: [] };
  const { source } = read;
  if (isBlank(source.text)) {
    return { problems: [source.problem({ start: 0, end: 1, path: '', ...EMPTY })], texts: [source.text] };
  }
  maskSecrets(source);
  const yaml = readYaml({ source, env: {}, isPlain: true });
  const { root } = yaml;
  if (root === undefined) return { problems: problemsOf(yaml, []), texts: [source.text] };
  maskUnknown(root, source);
  const { value, faults } = checkSchema(webSettings(), root);
  const ofUsers = usersFaults(placeAt(root, ['basic_auth_users']), options);
  if (value === undefined) return { problems: problemsOf(yaml, [...faults, ...ofUsers]), texts: [source.text] };

  const material = new WebMaterial(root, resolve(path));
  const tls = readWebTls(value.tls_server_config ?? {}, material);
  const limit = value.rate_limit;
  const told = [...material.faults, ...ofUsers, ...limitFaults(value.rate_limit, root)];
  const problems = problemsOf(yaml, told);
  const texts = [source.text, ...material.texts];
  if (problems.some(({ severity }) => severity === 'error')) return { problems, texts };
  const users = [...(placeAt(root, ['basic_auth_users'])?.entries ?? [])];
  const headers = Object.entries(value.http_server_config?.headers ?? {});
  const web: WebConfig = {
    tls,
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

/**
 * Fault of an empty file: it may be half-written, or the disk may be full. It must not open the listener to everyone.
 */
const EMPTY = { message: 'the file is empty', help: 'write {} for no settings' };

function isBlank(text: string): boolean {
  return text.split('\n').every((line) => /^\s*(?:#|$)/.test(line));
}

/** Masks secrets anywhere in the text, also in an unparsable file. */
function maskSecrets(source: SourceText): void {
  for (const match of source.text.matchAll(/\$2\w?\$\S+|-----BEGIN [^-]*PRIVATE KEY-----[^-]*/g)) {
    source.mask(match.index, match.index + match[0].length);
  }
}

/** Masks unknown keys: a misspelt `key` is a secret, too, and so are passwords of users under another name. */
function maskUnknown(root: Place, source: SourceText): void {
  for (const [at, schema] of [
    [root, webSettings()],
    [placeAt(root, ['tls_server_config']), webSettings().shape.tls_server_config],
  ] as const) {
    const known = keysOf(schema);
    for (const [key, place] of at?.entries ?? []) {
      if (!known.has(key)) source.mask(place.start, place.end);
    }
  }
}

/** Maximum cost of a hash: each step doubles the time, and 15 takes seconds. */
const HIGHEST_COST = 15;
const HASH = /^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/;
const OWN_NAMES = ['local', 'engine', 'anonymous'];

function usersFaults(users: Place | undefined, { noUsers, taken }: WebConfigOptions): Fault[] {
  const faults: Fault[] = [];
  for (const [name, place] of users?.entries ?? []) {
    if (noUsers !== undefined) return [faultAtKey(place, { message: 'users are not allowed here', help: noUsers })];
    if (!/^[^:\p{C}]{1,200}$/u.test(name)) {
      const help = 'write 1 to 200 visible characters without a colon';
      faults.push(faultAtKey(place, { message: 'invalid user name', help }));
    } else if ([...OWN_NAMES, ...taken].includes(name)) {
      const help = 'rename the user, so that the audit log can distinguish them';
      faults.push(faultAtKey(place, { message: `${name} is already the name of another caller`, help }));
    }
    const hash = typeof place.value === 'string' ? place.value : '';
    if (!HASH.test(hash)) {
      const help = 'htpasswd -nBC 10 "" | tr -d \':\\n\' prompts for the password and prints its hash';
      faults.push(faultAt(place, { message: 'not a bcrypt hash', help }));
    } else if (costOf(hash) > HIGHEST_COST || costOf(hash) < 4) {
      const message = `the cost of this hash is ${costOf(hash)}; it must be 4 to ${HIGHEST_COST}`;
      faults.push(faultAt(place, { message, help: 'create one with cost 10' }));
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
  const message = 'with an interval and a burst of 0, every request would be rejected';
  const help = 'write the number of requests that may come at once';
  return [{ ...faultAt(place, { message, help }), path: 'rate_limit.burst' }];
}
