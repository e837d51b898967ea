/**
 * Loads the configuration strictly, all at once, with every problem as file:line:column. It starts and changes nothing.
 * A configuration that it returns is complete.
 */
import { createHash } from 'node:crypto';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { checkAccounts } from './check-accounts.ts';
import { checkAddresses } from './check-addresses.ts';
import { checkListenerSecurity } from './check-listener-security.ts';
import { checkCanaries } from './check-canaries.ts';
import { checkHooks } from './check-hooks.ts';
import { checkPolicies, type PolicyList } from './check-policies.ts';
import { checkSchema } from './check-schema.ts';
import { checkProxies } from './check-proxies.ts';
import { composeConfig, type Config, type LoadedPolicy } from './config.ts';
import { environmentDefaults } from './environment-defaults.ts';
import { problemsOf, unread } from './file-problems.ts';
import { findPolicyFiles } from './policy-files.ts';
import { policyPart } from './policy-part.ts';
import type { Problem } from './problem.ts';
import { readSource } from './read-file.ts';
import { checkSecretFiles } from './secret-files.ts';
import { listenerShape } from '#operate/http/web-settings.ts';
import { configSettings, policyFileSettings } from './settings.ts';
import { type Fault, SourceText } from './source-text.ts';
import { readYaml, type YamlFile } from './yaml-file.ts';
import { placeAt } from './yaml-place.ts';

export { formatProblems } from './problem.ts';
export type { Problem } from './problem.ts';

export type LoadResult =
  | { readonly ok: true; readonly config: Config; readonly warnings: readonly Problem[] }
  | {
      readonly ok: false;
      /** Problems, including warnings. */
      readonly problems: readonly Problem[];
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
  if (!read.ok) return { ok: false, problems: [unread(read)] };
  return load(read.source, { ...options, file: path, baseDir: dirname(resolve(path)) });
}

/** Parses a text that is not a file. The files that it names are read as well. */
export function parseConfig(text: string, options: ParseOptions): LoadResult {
  return load(new SourceText(options.file, text), options);
}

function load(source: SourceText, options: ParseOptions): LoadResult {
  const absolute = (path: string): string => resolve(options.baseDir, path);
  const problems: Problem[] = [];
  const main = readYaml({ source, env: options.env });
  if (main.root === undefined) return { ok: false, problems: main.faults.map((fault) => source.problem(fault)) };

  const schema = checkSchema(configSettings, main.root);
  const defaulted = schema.value && environmentDefaults(schema.value, main.root, options.env);
  const found = findPolicyFiles(placeAt(main.root, ['policyFiles']), absolute);
  const security = checkListenerSecurity(main.root, {
    absolute,
    file: options.file,
    secrets: options.secrets !== false,
  });
  const mainFaults = [
    ...schema.faults,
    ...(defaulted?.faults ?? []),
    ...found.faults,
    ...checkAccounts(main.root, source),
    ...checkAddresses(main.root),
    ...checkHooks(main.root),
    ...checkCanaries(main.root),
    ...security.faults,
    ...(options.secrets === false ? [] : [...checkSecretFiles(main.root, absolute), ...checkProxies(options.env)]),
  ];

  const parsed: LoadedPolicy[] = [];
  const lists: PolicyList[] = [];
  const add = (yaml: YamlFile, settings: readonly LoadedPolicy['settings'][] | undefined, shown: string): void => {
    const list = yaml.root === undefined ? undefined : placeAt(yaml.root, ['policies']);
    lists.push({ source: yaml.source, list });
    for (const [index, policy] of (settings ?? []).entries()) {
      const { line } = yaml.source.position(list?.items?.[index]?.start ?? 0);
      parsed.push({ settings: policy, source: `${shown}:${line}` });
    }
  };
  add(main, schema.value?.policies, basename(options.file));

  const later: { readonly yaml: YamlFile; readonly faults: readonly Fault[] }[] = [];
  const contents = [source.text];
  const policyTexts: (string | undefined)[] = [];
  for (const file of found.files) {
    const read = readSource(
      file.path,
      isAbsolute(file.written) ? file.written : join(dirname(options.file), file.written),
    );
    policyTexts.push(read.ok ? read.source.text : undefined);
    if (!read.ok) {
      problems.push(unread(read));
      continue;
    }
    contents.push(read.source.text);
    const yaml = readYaml({ source: read.source, env: options.env });
    const result = yaml.root === undefined ? undefined : checkSchema(policyFileSettings, yaml.root);
    later.push({ yaml, faults: result?.faults ?? [] });
    add(yaml, result?.value?.policies, file.written);
  }

  const crossed = checkPolicies(lists, main.root);
  for (const { yaml, faults } of [{ yaml: main, faults: mainFaults }, ...later]) {
    const own = crossed.filter((found) => found.source === yaml.source).map((found) => found.fault);
    problems.push(...problemsOf(yaml, [...faults, ...own]));
  }
  problems.push(...security.problems);
  const part = found.faults.some(({ severity }) => severity !== 'warning') ? undefined : policyPart(main, policyTexts);
  if (problems.some((problem) => problem.severity === 'error') || defaulted === undefined) {
    return { ok: false, problems, policyPart: part };
  }
  const config = composeConfig({
    settings: defaulted.settings,
    storePath: defaulted.storePath,
    policies: parsed,
    sourceFile: resolve(options.baseDir, basename(options.file)),
    files: [resolve(options.baseDir, basename(options.file)), ...found.files.map((file) => file.path)],
    // A change of how the listeners are opened counts as a change of the configuration itself.
    hash: hashOf([withoutReplica(main), ...contents.slice(1), ...shapesOf(security)]),
    contents: hashOf([...contents, ...security.texts]),
    security,
    policyPart: part ?? '',
    absolute,
  });
  return { ok: true, config, warnings: problems };
}

/** Returns the text of a file without the name of the replica, by which alone all replicas may differ. */
function withoutReplica({ source: { text }, root }: YamlFile): string {
  const { start, end } = (root && placeAt(root, ['storage', 'postgres', 'replica'])) ?? { start: 0, end: 0 };
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
