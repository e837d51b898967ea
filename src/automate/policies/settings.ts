/** The language of policies: five actions, each with the keys that mean something for it, and no others. */
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

const name = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/, 'expected lower-case letters, digits and hyphens, at most 64');

/** What every policy may say. */
const keys = {
  name: name.describe('Name of the policy, unique in the configuration.'),
  description: z.string().exactOptional().describe('For people.'),
  owner: name.exactOptional().describe('Team that owns the policy.'),
  account: z.string().min(1).describe('Name of the account it acts on.'),
  mode: z
    .enum(POLICY_MODES)
    .default('audit')
    .describe('off: nothing; audit: decide and record; approve: wait for a person; enforce: act.'),
  ...whenKeys,
  preconditions: z
    .array(
      z.strictObject({
        name: z.string().min(1).max(64).describe('What is told when it does not hold.'),
        expr: z.string().min(1).describe('CEL expression over facts; false or unknown holds the run.'),
      }),
    )
    .default([])
    .superRefine((list, context) => {
      // What is no list is told of as that.
      for (const [index, one] of Array.isArray(list) ? list.entries() : []) {
        if (!list.slice(0, index).some((other) => other?.name !== undefined && other.name === one?.name)) continue;
        const message = 'another precondition has this name; give each a name of its own';
        context.addIssue({ code: 'custom', path: [index, 'name'], message });
      }
    }, always)
    .describe('What must hold besides the built-in guards.'),
};

const whereSetting = z.string().min(1);
const action = <T extends z.ZodType>(schema: T): T => schema.describe('What is done.');
const select = <T extends z.ZodType>(schema: T): T =>
  schema.describe('What the service is asked for: it can only narrow.');
const limits = <T extends z.ZodType>(schema: T) => schema.describe('Limits; all are finite.');

const MAX_AMPLIFICATION = 20;

const resumeSettings = z
  .strictObject({
    ...keys,
    select: select(workflowDlqSelect),
    where: whereSetting
      .default('entry.cause == "transient"')
      .describe('CEL expression over `entry` that an entry must meet.'),
    action: action(resumeAction),
    limits: limits(resumeLimits.prefault({})),
    ramp: rampSettings.prefault({}).describe('A bulk repair begins small and grows with what is verified.'),
  })
  .superRefine(refineWhen(false), always)
  .superRefine((policy, context) => {
    const max = policy.limits?.attempts?.max;
    const retries = policy.action?.retries;
    if (typeof max !== 'number' || typeof retries !== 'number' || max * (1 + retries) <= MAX_AMPLIFICATION) return;
    // Whatever of the two is written: at its default neither is too much by itself.
    const path = retries === DEFAULT_RETRIES ? ['limits', 'attempts', 'max'] : ['action', 'retries'];
    context.addIssue({
      code: 'custom',
      path,
      message:
        `a run would be tried up to ${max * (1 + retries)} times (${max} resumes of ${1 + retries} tries each), ` +
        `and ${MAX_AMPLIFICATION} is the most; lower limits.attempts.max or action.retries`,
    });
  }, always);

const workflowDeleteSettings = z
  .strictObject({
    ...keys,
    select: select(workflowDlqSelect),
    where: whereSetting.describe('CEL expression over `entry` that an entry must meet.'),
    action: action(workflowDeleteAction),
    limits: limits(deleteLimits.prefault({})),
  })
  .superRefine(refineWhen(true), always);

const messageDeleteSettings = z
  .strictObject({
    ...keys,
    select: select(deadLetterSelect),
    where: whereSetting.describe('CEL expression over `entry` that an entry must meet.'),
    action: action(messageDeleteAction),
    limits: limits(deleteLimits.prefault({})),
  })
  .superRefine(refineWhen(true), always);

const pruneSettings = z
  .strictObject({
    ...keys,
    select: select(pruneSelect),
    action: action(pruneAction),
    limits: limits(pruneLimits.prefault({})),
  })
  .superRefine(refineWhen(true), always);

const budgetRaiseSettings = z
  .strictObject({
    ...keys,
    select: select(budgetSelect),
    where: whereSetting.describe('CEL expression over `spend` and `budget` that asks for a raise.'),
    action: action(budgetAction),
    limits: limits(budgetLimits.prefault({})),
  })
  .superRefine(refineWhen(false), always);

export const policySettings = toldApart(
  [
    ['action', 'type'],
    ['select', 'resource'],
  ],
  z.union([resumeSettings, workflowDeleteSettings, messageDeleteSettings, pruneSettings, budgetRaiseSettings]),
);

export const engineSettings = z.strictObject({
  mode: z
    .enum(POLICY_MODES)
    .default('enforce')
    .describe('Ceiling for the mode of every policy; OPSD_MODE in the environment can only lower it.'),
  protectedLabels: z
    .array(z.string().min(1))
    .default(['no-auto', 'legal-hold'])
    .describe('Entries with any of these labels are never acted on, save by a prune, which sees no entry.'),
  killSwitchFile: z.string().min(1).exactOptional().describe('While this file exists nothing is done.'),
  approvals: z
    .strictObject({
      expireAfter: durationSetting({ min: '1m', max: '7d' })
        .prefault('4h')
        .describe('How long a plan waits for its approval.'),
    })
    .prefault({})
    .describe('Plans that wait for a person.'),
  caps: z
    .strictObject({
      perHour: z.int().min(1).default(5_000).describe('Acts of a sliding hour, all policies together.'),
      perDay: z.int().min(1).default(20_000).describe('Acts of a sliding day, all policies together.'),
      deletesPerDay: z.int().min(1).default(1_000).describe('Deletes of a sliding day, all policies together.'),
      spendUsdPerDay: z
        .number()
        .gt(0)
        .default(5)
        .describe('Dollars that the acts of a sliding day may cost, where a price is known.'),
    })
    .prefault({})
    .describe('Limits over all policies.'),
});

export type PolicySettings = z.output<typeof policySettings>;
export type EngineSettings = z.output<typeof engineSettings>;

/** The settings of one action. */
export type SettingsOf<T extends PolicySettings['action']['type']> = Extract<
  PolicySettings,
  { readonly action: { readonly type: T } }
>;

/** TypeScript does not tell a union apart by what stands inside of a key. */
export function isOf<T extends PolicySettings['action']['type']>(
  settings: PolicySettings,
  type: T,
): settings is SettingsOf<T> {
  return settings.action.type === type;
}
