/**
 * Builds any of the six policies from the settings that matter to a test. All others have defaults or harmless values.
 */
import type { ActionType } from '#foundation/domain/plan.ts';
import { compilePolicy } from '#automate/policies/compile-policy.ts';
import type { Policy } from '#automate/policies/policy.ts';
import { policySettings, type PolicySettings } from '#automate/policies/settings.ts';

type PolicyOf<T extends ActionType> = Extract<Policy, { readonly action: { readonly type: T } }>;

type Mapping = Readonly<Record<string, unknown>>;

const BASE: Readonly<Record<ActionType, Mapping>> = {
  'workflow-dlq.resume': { select: { resource: 'workflow-dlq' } },
  'workflow-dlq.delete': {
    select: { resource: 'workflow-dlq' },
    where: 'entry.cause == "permanent"',
    action: { archive: { dir: '/tmp/archive' } },
    every: '5m',
  },
  'message-dlq.republish': { select: { resource: 'message-dlq' } },
  'message-dlq.delete': { select: { resource: 'message-dlq' }, where: 'entry.cause == "permanent"', every: '5m' },
  'message-dlq.prune': {
    select: { resource: 'message-dlq', failedBefore: '14d', anyLabel: ['newsletter'] },
    every: '5m',
  },
  'budget.raise': {
    select: { resource: 'account-budget' },
    where: 'spend.hoursLeft < 24.0',
    action: { step: { percent: 20 }, ceilingUsd: 400 },
  },
};

/** Settings as in YAML. Mappings are merged into the base, and an undefined key is removed. */
export function policySettingsOf(type: ActionType, over: Mapping = {}): PolicySettings {
  const base = { name: 'test', account: 'main', ...BASE[type], action: { type, ...mapping(BASE[type]['action']) } };
  return policySettings.parse(merged(base, over));
}

/**
 * ```ts
 * policyOf('workflow-dlq.delete', { mode: 'enforce', limits: { maxPerRun: 5 } })
 * ```
 *
 * @throws {Error} when the policy would not load
 */
export function policyOf<T extends ActionType>(type: T, over: Mapping = {}): PolicyOf<T> {
  return compilePolicy(policySettingsOf(type, over), 'policies/test.yaml:1') as PolicyOf<T>;
}

function merged(base: Mapping, over: Mapping): Mapping {
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    if (value === undefined) delete result[key];
    else result[key] = isMapping(value) && isMapping(base[key]) ? merged(base[key], value) : value;
  }
  // A trigger replaces the default one.
  if (over['every'] === undefined && ['schedule', 'on'].some((key) => over[key] !== undefined)) delete result['every'];
  return result;
}

function mapping(value: unknown): Mapping {
  return isMapping(value) ? value : {};
}

function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
