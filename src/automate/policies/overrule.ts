/**
 * A person may overrule a limit once, for one plan they have seen. Only limits and the ramp can be: not the kill
 * switch, the echo check, protections, or the rule of the failure function.
 */
import { parseDuration } from '#foundation/domain/duration.ts';
import type { Plan } from '#foundation/domain/plan.ts';
import type { Policy } from './policy.ts';

/** What can be overruled, and how its value is written. */
const OVERRULABLE: Readonly<Record<string, 'count' | 'duration'>> = {
  'limits.maxMatched': 'count',
  'limits.maxPerRun': 'count',
  'limits.maxPerHour': 'count',
  'limits.maxPerDay': 'count',
  'limits.maxPerMonth': 'count',
  'limits.maxRaisePerMonthUsd': 'count',
  'limits.minInterval': 'duration',
  'ramp.start': 'count',
  'ramp.factor': 'count',
  'ramp.max': 'count',
  'ramp.settle': 'duration',
};

/** @returns the policy with these settings, or what is wrong with them */
export function overrule(policy: Policy, settings: Readonly<Record<string, string>>): Policy | string {
  const limits: Record<string, unknown> = { ...policy.limits };
  const ramp: Record<string, unknown> | undefined = 'ramp' in policy ? { ...policy.ramp } : undefined;
  for (const [key, text] of Object.entries(settings)) {
    const kind = OVERRULABLE[key];
    if (kind === undefined) {
      return `${key.slice(0, 100)} cannot be overruled; these can: ${Object.keys(OVERRULABLE).join(', ')}`;
    }
    const value = kind === 'count' ? countOf(text) : parseDuration(text);
    if (value === undefined) {
      const example = kind === 'count' ? 'a whole number above 0' : 'a duration such as 30m';
      return `${key} must be ${example}, not ${text.slice(0, 50)}`;
    }
    const [section, name] = key.split('.') as [string, string];
    const target = section === 'ramp' ? ramp : limits;
    if (target === undefined || !(name in target)) return `policy ${policy.name} has no ${key}`;
    target[name] = value;
  }
  return { ...policy, limits, ...(ramp !== undefined && { ramp }) } as unknown as Policy;
}

/** Returns `ramp.settle` of a policy where a plan overrules it, milliseconds. */
export function overruledSettle(policy: Policy, overruled: Plan['overruled']): number | undefined {
  return overruled?.settings['ramp.settle'] !== undefined && 'ramp' in policy ? policy.ramp.settle : undefined;
}

function countOf(text: string): number | undefined {
  const value = Number(text);
  return /^\d+$/.test(text) && value >= 1 && Number.isSafeInteger(value) ? value : undefined;
}
