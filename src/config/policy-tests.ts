/** Loads a file of policy tests as strictly as the configuration: every problem as file:line:column. */
import { dirname, resolve } from 'node:path';

import { policyTestSettings, type PolicyTest } from '#automate/policytest/settings.ts';
import type { PolicyList } from './check-policies.ts';
import { checkSchema } from './check-schema.ts';
import type { LoadedPolicy } from './config.ts';
import { PolicyLists } from './policy-lists.ts';
import type { ConfigProblem } from './problem.ts';
import { readSource } from './read-file.ts';
import type { Fault } from './source-text.ts';
import { suggestionOr } from '#foundation/domain/suggest.ts';
import { readYaml, unreadProblem } from './yaml-file.ts';
import { faultAt, itemsAt, type Place, placeAt, type WalkOptions } from './yaml-place.ts';

export interface LoadedTest {
  readonly test: PolicyTest;
  /** Line, from 1. */
  readonly line: number;
  /** Line of each step, from 1. */
  readonly stepLines: readonly number[];
}

export type LoadedTests =
  | { readonly ok: true; readonly policies: readonly LoadedPolicy[]; readonly tests: readonly LoadedTest[] }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

/** @param env values for `${env:NAME}` in the files */
export function loadPolicyTests(path: string, { env }: Pick<WalkOptions, 'env'>): LoadedTests {
  const read = readSource(path, path);
  if (!read.ok) return { ok: false, problems: [unreadProblem(read)] };
  const { source } = read;
  const main = readYaml({ source, env });
  const { root } = main;
  if (root === undefined) return { ok: false, problems: main.faults.map((fault) => source.problem(fault)) };
  const schema = checkSchema(policyTestSettings, root);
  const lists = new PolicyLists(main, schema.value?.policies, {
    env,
    folder: dirname(path),
    absolute: (file) => resolve(dirname(path), file),
    sourceOf: ({ file }) => file,
  });
  const names = lists.isWhole ? unknownNames(root, lists.lists) : [];
  const problems = lists.problems(main, [...schema.faults, ...lists.faults, ...names], undefined);
  if (problems.some(({ severity }) => severity === 'error') || schema.value === undefined)
    return { ok: false, problems };
  const lineOf = (at: Place | undefined): number => source.position(at?.start ?? 0).line;
  return {
    ok: true,
    policies: lists.policies,
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
  const named = itemsAt(root, 'tests').flatMap((test) => [
    ...itemsAt(test, 'steps').flatMap((step) => ['run', 'plan', 'approve'].map((key) => placeAt(step, [key]))),
    ...['campaigns', 'raises', 'acted'].flatMap((key) =>
      itemsAt(test, 'given', key).map((one) => placeAt(one, ['policy'])),
    ),
  ]);
  return named.flatMap((place) => {
    if (typeof place?.value !== 'string' || names.has(place.value)) return [];
    const help = suggestionOr(`the policies are ${[...names].join(', ')}`, place.value, names);
    return [faultAt(place, { message: 'unknown policy', help })];
  });
}
