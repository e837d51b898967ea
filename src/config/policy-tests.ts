/** Loads a file of policy tests as strictly as the configuration: every problem as file:line:column. */
import { dirname, isAbsolute, join, resolve } from 'node:path';

import { policyTestSettings, type PolicyTest } from '#automate/policytest/settings.ts';
import { checkPolicies, type PolicyList } from './check-policies.ts';
import { checkSchema } from './check-schema.ts';
import type { LoadedPolicy } from './config.ts';
import { problemsOf, unread } from './file-problems.ts';
import { findPolicyFiles } from './policy-files.ts';
import type { Problem } from './problem.ts';
import { readSource } from './read-file.ts';
import { policyFileSettings } from './settings.ts';
import type { Fault } from './source-text.ts';
import { nearest } from '#foundation/domain/suggest.ts';
import { readYaml, type YamlFile } from './yaml-file.ts';
import { type Place, pathText, placeAt, type WalkOptions } from './yaml-place.ts';

export interface LoadedTest {
  readonly test: PolicyTest;
  /** Line, from 1. */
  readonly line: number;
  /** Line of each step, from 1. */
  readonly stepLines: readonly number[];
}

export type LoadedTests =
  | { readonly ok: true; readonly policies: readonly LoadedPolicy[]; readonly tests: readonly LoadedTest[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** @param env values for `${env:NAME}` in the files */
export function loadPolicyTests(path: string, { env }: Pick<WalkOptions, 'env'>): LoadedTests {
  const read = readSource(path, path);
  if (!read.ok) return { ok: false, problems: [unread(read)] };
  const { source } = read;
  const main = readYaml({ source, env });
  const { root } = main;
  if (root === undefined) return { ok: false, problems: main.faults.map((fault) => source.problem(fault)) };
  const schema = checkSchema(policyTestSettings, root);
  const found = findPolicyFiles(placeAt(root, ['policyFiles']), (file) => resolve(dirname(path), file));

  const problems: Problem[] = [];
  const policies: LoadedPolicy[] = [];
  const lists: PolicyList[] = [];
  const files: { readonly yaml: YamlFile; readonly faults: readonly Fault[] }[] = [];
  const add = (yaml: YamlFile, settings: readonly LoadedPolicy['settings'][] | undefined): void => {
    const list = yaml.root === undefined ? undefined : placeAt(yaml.root, ['policies']);
    lists.push({ source: yaml.source, list });
    for (const [index, policy] of (settings ?? []).entries()) {
      const { line } = yaml.source.position(list?.items?.[index]?.start ?? 0);
      policies.push({ settings: policy, source: `${yaml.source.file}:${line}` });
    }
  };
  add(main, schema.value?.policies);
  for (const file of found.files) {
    const shown = isAbsolute(file.written) ? file.written : join(dirname(path), file.written);
    const other = readSource(file.path, shown);
    if (!other.ok) {
      problems.push(unread(other));
      continue;
    }
    const yaml = readYaml({ source: other.source, env });
    const result = yaml.root === undefined ? undefined : checkSchema(policyFileSettings, yaml.root);
    files.push({ yaml, faults: result?.faults ?? [] });
    add(yaml, result?.value?.policies);
  }

  const crossed = checkPolicies(lists, undefined);
  const names = problems.length === 0 ? unknownNames(root, lists) : [];
  const mainFaults = [...schema.faults, ...found.faults, ...names];
  for (const { yaml, faults } of [{ yaml: main, faults: mainFaults }, ...files]) {
    const own = crossed.filter((one) => one.source === yaml.source).map(({ fault }) => fault);
    problems.push(...problemsOf(yaml, [...faults, ...own]));
  }
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (errors.length > 0 || schema.value === undefined) return { ok: false, problems };
  const lineOf = (at: Place | undefined): number => source.position(at?.start ?? 0).line;
  return {
    ok: true,
    policies,
    tests: schema.value.tests.map((test, index) => ({
      test,
      line: lineOf(placeAt(root, ['tests', index])),
      stepLines: test.steps.map((_step, step) => lineOf(placeAt(root, ['tests', index, 'steps', step]))),
    })),
  };
}

/** Faults of policy names in steps or given items that no file defines. */
function unknownNames(root: Place, lists: readonly PolicyList[]): Fault[] {
  const names = new Set(
    lists
      .flatMap(({ list }) => (list?.items ?? []).map((policy) => placeAt(policy, ['name'])?.value))
      .filter((name) => typeof name === 'string'),
  );
  const faults: Fault[] = [];
  const check = (place: Place | undefined, path: readonly PropertyKey[]): void => {
    if (typeof place?.value !== 'string' || names.has(place.value)) return;
    const meant = nearest(place.value, names);
    const help = meant === undefined ? `the policies are ${[...names].join(', ')}` : `did you mean ${meant}?`;
    const message = 'unknown policy';
    faults.push({ start: place.start, end: place.end, path: pathText(path), message, help });
  };
  for (const [index, test] of (placeAt(root, ['tests'])?.items ?? []).entries()) {
    for (const [at, step] of (placeAt(test, ['steps'])?.items ?? []).entries()) {
      for (const key of ['run', 'plan', 'approve']) {
        check(placeAt(step, [key]), ['tests', index, 'steps', at, key]);
      }
    }
    for (const key of ['campaigns', 'raises', 'acted']) {
      for (const [at, one] of (placeAt(test, ['given', key])?.items ?? []).entries()) {
        check(placeAt(one, ['policy']), ['tests', index, 'given', key, at, 'policy']);
      }
    }
  }
  return faults;
}
