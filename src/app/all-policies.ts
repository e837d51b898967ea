/** Policies of all accounts of the configuration, also of those that other replicas work on. */
import { compilePolicy } from '#automate/policies/compile-policy.ts';
import type { Policy } from '#automate/policies/policy.ts';
import type { Generation } from './generation.ts';

const known = new WeakMap<Generation['policies'], readonly Policy[]>();

export function allPolicies({ whole, policies }: Pick<Generation, 'whole' | 'policies'>): readonly Policy[] {
  let all = known.get(policies);
  if (all === undefined) {
    const own = new Map(policies.compiled.map((policy) => [policy.name, policy]));
    all = whole.policies.map(({ settings, source }) => own.get(settings.name) ?? compilePolicy(settings, source));
    known.set(policies, all);
  }
  return all;
}
