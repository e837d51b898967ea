/**
 * Loads the configuration strictly, all at once, with every problem as file:line:column. It starts and changes nothing.
 * A configuration that it returns is complete.
 */
import { createHash } from 'node:crypto';
import { basename, dirname, resolve } from 'node:path';
import { checkAccounts } from './check-accounts.ts';
import { checkAddresses, checkProxies } from './check-addresses.ts';
import { checkListenerSecurity } from './check-listener-security.ts';
import { checkBodies, checkCanaries, checkHooks } from './check-hooks.ts';
import { checkSchema } from './check-schema.ts';
import { composeConfig, type Config } from './config.ts';
import { environmentDefaults } from './environment-defaults.ts';
import { PolicyLists } from './policy-lists.ts';
import type { ConfigProblem } from './problem.ts';
import { readSource } from './read-file.ts';
import { checkSecretFiles } from './secret-files.ts';
import { listenerShape } from '#operate/http/web-settings.ts';
import { configSettings } from './settings.ts';
import { SourceText } from './source-text.ts';
import { readYaml, unreadProblem, type YamlFile } from './yaml-file.ts';
import { placeAt, type Place } from './yaml-place.ts';

export { formatProblems } from './problem.ts';
export type { ConfigProblem } from './problem.ts';

export type LoadResult =
  | { readonly ok: true; readonly config: Config; readonly warnings: readonly ConfigProblem[] }
  | {
      readonly ok: false;
      /** Problems, including warnings. */
      readonly problems: readonly ConfigProblem[];
      /** Same as `Config.policyPart`; undefined if unknown. */
      readonly policyPart?: string;
    };

export interface LoadOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** False: files of secrets are not read, and proxies of the environment are not checked. */
  readonly secrets?: boolean;
}

export interface ParseOptions extends LoadOptions {
  /** Name of the text in problems. */
  readonly file: string;
  /** Base folder of relative paths. */
  readonly baseDir: string;
}

/** Reads a file and the files that it names. */
export function loadConfig(path: string, options: LoadOptions): LoadResult {
  const read = readSource(path, path);
  if (!read.ok) return { ok: false, problems: [unreadProblem(read)] };
  return load(read.source, { ...options, file: path, baseDir: dirname(resolve(path)) });
}

/** Parses a text that is not a file. The files that it names are read as well. */
export function parseConfig(text: string, options: ParseOptions): LoadResult {
  return load(new SourceText(options.file, text), options);
}

function load(source: SourceText, options: ParseOptions): LoadResult {
  const absolute = (path: string): string => resolve(options.baseDir, path);
  const main = readYaml({ source, env: options.env });
  if (main.root === undefined) return { ok: false, problems: main.faults.map((fault) => source.problem(fault)) };

  const schema = checkSchema(configSettings, main.root);
  const defaulted = schema.value && environmentDefaults(schema.value, main.root, options.env);
  const lists = new PolicyLists(main, schema.value?.policies, {
    env: options.env,
    folder: dirname(options.file),
    absolute,
    sourceOf: ({ file }, written) => written ?? basename(file),
  });
  const security = checkListenerSecurity(main.root, {
    absolute,
    file: options.file,
    secrets: options.secrets !== false,
  });
  const mainFaults = [
    ...schema.faults,
    ...(defaulted?.faults ?? []),
    ...lists.faults,
    ...checkAccounts(main.root, source),
    ...checkAddresses(main.root),
    ...checkHooks(main.root),
    ...checkBodies(main.root),
    ...checkCanaries(main.root),
    ...security.faults,
    ...(options.secrets === false ? [] : [...checkSecretFiles(main.root, absolute), ...checkProxies(options.env)]),
  ];
  const problems = [...lists.problems(main, mainFaults, main.root), ...security.problems];
  const isUnclear = lists.faults.some(({ severity }) => severity !== 'warning');
  const part = isUnclear ? undefined : policyPart(main, lists.texts);
  if (problems.some((problem) => problem.severity === 'error') || defaulted === undefined) {
    return { ok: false, problems, policyPart: part };
  }
  const contents = lists.texts.map((text) => text!);
  const sourceFile = resolve(options.baseDir, basename(options.file));
  const config = composeConfig({
    settings: defaulted.settings,
    storePath: defaulted.storePath,
    policies: lists.policies,
    sourceFile,
    files: [sourceFile, ...lists.paths],
    // A change of how the listeners are opened counts as a change of the configuration itself.
    hash: hashOf([withoutReplica(main), ...contents, ...shapesOf(security)]),
    contents: hashOf([source.text, ...contents, ...security.texts]),
    security: { server: security.server, hooks: security.hooks },
    policyPart: part ?? '',
    absolute,
  });
  return { ok: true, config, warnings: problems };
}

/** Returns the text of a file without the name of the replica, by which alone all replicas may differ. */
function withoutReplica({ source: { text }, root }: YamlFile): string {
  const { start, end } = placeAt(root, ['storage', 'postgres', 'replica']) ?? { start: 0, end: 0 };
  return text.slice(0, start) + text.slice(end);
}

function shapesOf({ server, hooks }: Config['security']): string[] {
  return Object.entries({ server, hooks }).flatMap(([name, web]) => {
    const shape = listenerShape(web);
    return shape === 'plain' ? [] : [`${name}: ${shape}`];
  });
}

function hashOf(contents: readonly string[]): string {
  const hash = createHash('sha256');
  // Each text is prefixed by its length, so that two files never look like one.
  for (const text of contents) hash.update(`${text.length}\n`).update(text);
  return hash.digest('hex');
}

/** Keys that cannot change what a policy does. All other keys count, also unknown ones: one may be a typo in a stop. */
const APART: ReadonlySet<string> = new Set(['version', 'server', 'storage', 'telemetry', 'notifications', 'log']);

/**
 * Returns a hash of everything that decides what policies do, also for an invalid configuration: a failed reload may
 * concern policies.
 *
 * @param texts contents of the policy files, in order; undefined for an unreadable one
 * @returns undefined if unknown, which differs from every hash
 */
function policyPart(main: YamlFile, texts: readonly (string | undefined)[]): string | undefined {
  // After a syntax error, the intended meaning is unknown.
  if (main.root === undefined || main.brokenAt !== Infinity) return undefined;
  const hash = createHash('sha256');
  const entries = [...(main.root.entries ?? [])].filter(([key]) => !APART.has(key));
  for (const [key, place] of entries.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`${JSON.stringify(key)}${JSON.stringify(plain(place))}\n`);
  }
  for (const text of texts) {
    if (text === undefined) return undefined;
    hash.update(`${text.length}\n`).update(text);
  }
  return hash.digest('hex');
}

function plain(place: Place): unknown {
  if (place.entries !== undefined) return [...place.entries].map(([key, inner]) => [key, plain(inner)]);
  return place.items?.map(plain) ?? place.value ?? null;
}
