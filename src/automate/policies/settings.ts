/** Settings of policies: five actions, each with the keys that apply to it and no others. */
import { z } from 'zod';
import { POLICY_MODES } from '#foundation/domain/plan.ts';
import { always, durationSetting, toldApart } from '#foundation/platform/settings.ts';
import {
  budgetAction,
  DEFAULT_RETRIES,
  messageDeleteAction,
  pruneAction,
  resumeAction,
  workflowDeleteAction,
} from './action-settings.ts';
import { budgetLimits, deleteLimits, pruneLimits, rampSettings, resumeLimits } from './limit-settings.ts';
import { budgetSelect, deadLetterSelect, pruneSelect, workflowDlqSelect } from './select-settings.ts';
import { refineWhen, whenKeys } from './when-settings.ts';

const policyName = () =>
  z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/, 'expected lower-case letters, digits and hyphens, at most 64');

/** Keys of every policy. */
const commonKeys = () => ({
  name: policyName().describe('Name of the policy, unique in the configuration.'),
  description: z.string().exactOptional().describe('Description for readers.'),
  owner: policyName().exactOptional().describe('Team that owns the policy.'),
  account: z.string().min(1).describe('Name of the account that the policy acts on.'),
  mode: z
    .enum(POLICY_MODES)
    .default('audit')
    .describe('off: do nothing. audit: decide and record. approve: wait for an operator. enforce: act.'),
  ...whenKeys(),
  preconditions: z
    .array(
      z.strictObject({
        name: z.string().min(1).max(64).describe('Name that messages show if the precondition is false or unknown.'),
        expr: z.string().min(1).describe('CEL expression over facts. A false or unknown result holds the run.'),
      }),
    )
    .default([])
    .superRefine((list, context) => {
      // Another check reports a value that is not a list.
      for (const [index, one] of Array.isArray(list) ? list.entries() : []) {
        if (!list.slice(0, index).some((other) => other?.name !== undefined && other.name === one?.name)) continue;
        const message = 'another precondition has this name; rename one of them';
        context.addIssue({ code: 'custom', path: [index, 'name'], message });
      }
    }, always)
    .describe('Conditions for a run, in addition to the built-in guards.'),
});

type Keys = ReturnType<typeof commonKeys>;

const whereSetting = () => z.string().min(1);
const action = <T extends z.ZodType>(schema: T): T => schema.describe('Action of the policy.');
const select = <T extends z.ZodType>(schema: T): T =>
  schema.describe('Filters of the request to the service. Each filter narrows the selection.');
const limits = <T extends z.ZodType>(schema: T) => schema.describe('Limits; all are finite.');

const MAX_AMPLIFICATION = 20;

const resumeSettings = (keys: Keys) =>
  z
    .strictObject({
      ...keys,
      select: select(workflowDlqSelect()),
      where: whereSetting()
        .default('entry.cause == "transient"')
        .describe('CEL expression over `entry` that an entry must meet.'),
      action: action(resumeAction()),
      limits: limits(resumeLimits().prefault({})),
      ramp: rampSettings()
        .prefault({})
        .describe('Growth of a bulk repair: it starts with a small step and grows after verified steps.'),
    })
    .superRefine(refineWhen(false), always)
    .superRefine((policy, context) => {
      const max = policy.limits?.attempts?.max;
      const retries = policy.action?.retries;
      if (typeof max !== 'number' || typeof retries !== 'number' || max * (1 + retries) <= MAX_AMPLIFICATION) return;
      // Reports the key that differs from its default; if both do, `action.retries`.
      const path = retries === DEFAULT_RETRIES ? ['limits', 'attempts', 'max'] : ['action', 'retries'];
      context.addIssue({
        code: 'custom',
        path,
        message:
          `a run could have up to ${max * (1 + retries)} attempts (${max} resumes of ${1 + retries} attempts each), ` +
          `and the maximum is ${MAX_AMPLIFICATION}; lower limits.attempts.max or action.retries`,
      });
    }, always);

const workflowDeleteSettings = (keys: Keys) =>
  z
    .strictObject({
      ...keys,
      select: select(workflowDlqSelect()),
      where: whereSetting().describe('CEL expression over `entry` that an entry must meet.'),
      action: action(workflowDeleteAction()),
      limits: limits(deleteLimits().prefault({})),
    })
    .superRefine(refineWhen(true), always);

const messageDeleteSettings = (keys: Keys) =>
  z
    .strictObject({
      ...keys,
      select: select(deadLetterSelect()),
      where: whereSetting().describe('CEL expression over `entry` that an entry must meet.'),
      action: action(messageDeleteAction()),
      limits: limits(deleteLimits().prefault({})),
    })
    .superRefine(refineWhen(true), always);

const pruneSettings = (keys: Keys) =>
  z
    .strictObject({
      ...keys,
      select: select(pruneSelect()),
      action: action(pruneAction()),
      limits: limits(pruneLimits().prefault({})),
    })
    .superRefine(refineWhen(true), always);

const budgetRaiseSettings = (keys: Keys) =>
  z
    .strictObject({
      ...keys,
      select: select(budgetSelect()),
      where: whereSetting().describe('CEL expression over `spend` and `budget`. A true result requests a raise.'),
      action: action(budgetAction()),
      limits: limits(budgetLimits().prefault({})),
    })
    .superRefine(refineWhen(false), always);

/** Built at its first use: it takes as long as all other schemas together, and many daemons have no policies. */
export const policySettings = z.lazy(() => {
  const keys = commonKeys();
  return toldApart(
    [
      ['action', 'type'],
      ['select', 'resource'],
    ],
    z.union([
      resumeSettings(keys),
      workflowDeleteSettings(keys),
      messageDeleteSettings(keys),
      pruneSettings(keys),
      budgetRaiseSettings(keys),
    ]),
  );
});

export const engineSettings = z.strictObject({
  mode: z
    .enum(POLICY_MODES)
    .default('enforce')
    .describe('Upper limit for the mode of every policy. The environment variable OPSD_MODE can only lower it.'),
  protectedLabels: z
    .array(z.string().min(1))
    .default(['no-auto', 'legal-hold'])
    .describe('Labels of entries that no policy acts on. Exception: a prune, which lists no entries.'),
  killSwitchFile: z.string().min(1).exactOptional().describe('Path of a file. While the file exists, no policy acts.'),
  approvals: z
    .strictObject({
      expireAfter: durationSetting({ min: '1m', max: '7d' })
        .prefault('4h')
        .describe('Time after which a pending plan expires.'),
    })
    .prefault({})
    .describe('Pending plans.'),
  caps: z
    .strictObject({
      perHour: z.int().min(1).default(5_000).describe('Maximum number of actions of all policies in a sliding hour.'),
      perDay: z.int().min(1).default(20_000).describe('Maximum number of actions of all policies in a sliding day.'),
      deletesPerDay: z
        .int()
        .min(1)
        .default(1_000)
        .describe('Maximum number of deletes of all policies in a sliding day.'),
      spendUsdPerDay: z
        .number()
        .gt(0)
        .default(5)
        .describe('Maximum cost of all actions in a sliding day, in dollars. Applies if a price is known.'),
    })
    .prefault({})
    .describe('Limits for all policies together.'),
});

export type PolicySettings = z.output<typeof policySettings>;
export type EngineSettings = z.output<typeof engineSettings>;

/** Settings of one action. */
export type SettingsOf<T extends PolicySettings['action']['type']> = Extract<
  PolicySettings,
  { readonly action: { readonly type: T } }
>;

/** Type guard: TypeScript does not discriminate a union by a nested key. */
export function isOf<T extends PolicySettings['action']['type']>(
  settings: PolicySettings,
  type: T,
): settings is SettingsOf<T> {
  return settings.action.type === type;
}
