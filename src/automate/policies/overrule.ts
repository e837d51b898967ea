/**
 * Overrules of limits: an operator may overrule a limit once, for one plan. Only limits, the ramp, and the check of
 * schedules can be overruled;
 * the kill switch, the filter check, protected labels and the failure-function rule cannot.
 */
import { parseDuration } from '#foundation/domain/duration.ts';
import type { Plan } from '#foundation/domain/plan.ts';
import type { Policy } from './policy.ts';

/** Settings that can be overruled, with the format of the value. */
const OVERRULABLE: Readonly<Record<string, 'count' | 'duration' | 'flag'>> = {
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
  'action.evenIfRepeated': 'flag',
};

const EXAMPLES = { count: 'a whole number above 0', duration: 'a duration such as 30m', flag: 'true' } as const;

/** @returns the policy with these settings, or the error in them */
export function overrule(policy: Policy, settings: Readonly<Record<string, string>>): Policy | string {
  const limits: Record<string, unknown> = { ...policy.limits };
  const ramp: Record<string, unknown> | undefined = 'ramp' in policy ? { ...policy.ramp } : undefined;
  const action: Record<string, unknown> = { ...policy.action };
  for (const [key, text] of Object.entries(settings)) {
    const kind = OVERRULABLE[key];
    if (kind === undefined) {
      return `${key.slice(0, 100)} cannot be overruled; these can: ${Object.keys(OVERRULABLE).join(', ')}`;
    }
    const value =
      kind === 'count' ? countOf(text) : kind === 'flag' ? text === 'true' || undefined : parseDuration(text);
    if (value === undefined) {
      return `${key} must be ${EXAMPLES[kind]}, not ${text.slice(0, 50)}`;
    }
    const [section, name] = key.split('.') as [string, string];
    const target = section === 'ramp' ? ramp : section === 'action' ? action : limits;
    if (target === undefined || !(name in target)) return `policy ${policy.name} has no ${key}`;
    target[name] = value;
  }
  return { ...policy, action, limits, ...(ramp !== undefined && { ramp }) } as unknown as Policy;
}

/** Returns a policy's `ramp.settle` in milliseconds if a plan overrules it. */
export function overruledSettle(policy: Policy, overruled: Plan['overruled']): number | undefined {
  return overruled?.settings['ramp.settle'] !== undefined && 'ramp' in policy ? policy.ramp.settle : undefined;
}

function countOf(text: string): number | undefined {
  const value = Number(text);
  return /^\d+$/.test(text) && value >= 1 && Number.isSafeInteger(value) ? value : undefined;
}
