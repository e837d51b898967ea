/** Settings of policies: six actions, each with the keys that apply to it and no others. */
import * as z from 'zod/mini';
import { isRepair, POLICY_MODES } from '#foundation/domain/plan.ts';
import {
  group,
  crossCheck,
  defaulted,
  described,
  durationSetting,
  wholeNumber,
  matching,
  optional,
  settingsBlock,
  someText,
  toldApart,
} from '#foundation/settings/blocks.ts';
import {
  budgetAction,
  DEFAULT_RETRIES,
  messageDeleteAction,
  pruneAction,
  republishAction,
  resumeAction,
  workflowDeleteAction,
} from './action-settings.ts';
import { budgetLimits, deleteLimits, pruneLimits, rampSettings, repairLimits } from './limit-settings.ts';
import { budgetSelect, deadLetterSelect, pruneSelect, workflowDlqSelect } from './select-settings.ts';
import { refineWhen, whenKeys } from './when-settings.ts';

const policyName = () =>
  matching(/^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/, 'expected lower-case letters, digits and hyphens, at most 64');

/** Keys of every policy. */
const commonKeys = () => ({
  name: described('Name of the policy, unique in the configuration.', policyName()),
  description: optional('Description for readers.', z.string()),
  owner: optional('Team that owns the policy.', policyName()),
  account: described('Name of the account that the policy acts on.', someText),
  mode: defaulted(
    'off: do nothing. audit: decide and record. approve: wait for an operator. enforce: act.',
    z.enum(POLICY_MODES),
    'audit',
  ),
  ...whenKeys(),
  preconditions: defaulted(
    'Conditions for a run, in addition to the built-in guards.',
    z
      .array(
        z.strictObject({
          name: described(
            'Name that messages show if the precondition is false or unknown.',
            someText.check(z.maxLength(64)),
          ),
          expr: described('CEL expression over facts. A false or unknown result holds the run.', someText),
        }),
      )
      .check(
        crossCheck((list, context) => {
          // Another check reports a value that is not a list.
          for (const [index, one] of Array.isArray(list) ? list.entries() : []) {
            if (!list.slice(0, index).some((other) => other?.name !== undefined && other.name === one?.name)) continue;
            const message = 'another precondition has this name; rename one of them';
            context.addIssue({ code: 'custom', path: [index, 'name'], message });
          }
        }),
      ),
    [],
  ),
});

type Keys = ReturnType<typeof commonKeys>;

const action = <T extends z.ZodMiniType>(schema: T): T => described('Action of the policy.', schema);
const select = <T extends z.ZodMiniType>(schema: T): T =>
  described('Filters of the request to the service. Each filter narrows the selection.', schema);
const limits = <T extends z.ZodMiniObject>(schema: T) => settingsBlock('Limits; all are finite.', schema);

const TRANSIENT = 'entry.cause == "transient"';
const PERMANENT = 'entry.cause == "permanent"';

/** Returns the `where` of a repair. No clock repairs a permanent failure, but a deploy can. */
export function repairWhere({ where, on }: Pick<SettingsOf<'workflow-dlq.resume'>, 'where' | 'on'>): string {
  return where ?? (on?.deploy === undefined ? TRANSIENT : `${TRANSIENT} || ${PERMANENT}`);
}

const ENTRY_WHERE = 'CEL expression over `entry` that an entry must meet.';

/** Schema of one action. @param mustBeSaid true if no default interval suits every policy */
const policyOf = <T extends z.core.$ZodLooseShape>(keys: Keys, mustBeSaid: boolean, own: T) =>
  // The compiler does not see the keys of a generic shape.
  z.strictObject({ ...keys, ...own }).check(crossCheck(refineWhen(mustBeSaid)) as never);

const MAX_AMPLIFICATION = 20;

/** @param own.by grouping of entries other than by destination */
const repairSettings = <S extends z.ZodMiniType, A extends z.ZodMiniType>(
  keys: Keys,
  own: { readonly select: S; readonly action: A; readonly by: 'workflowUrl' | 'url' },
) =>
  policyOf(keys, false, {
    select: select(own.select),
    where: optional(`${ENTRY_WHERE} Default: \`${TRANSIENT}\`; with \`on.deploy\` also \`${PERMANENT}\`.`, someText),
    action: action(own.action),
    limits: limits(repairLimits()),
    ramp: settingsBlock(
      'Growth of a bulk repair: it starts with a small step and grows after verified steps.',
      rampSettings(own.by),
    ),
  }).check(crossCheck(refineAmplification as never));

function refineAmplification(
  policy: {
    readonly limits?: { readonly attempts?: { readonly max?: number } };
    readonly action?: { readonly retries?: number };
  },
  context: z.core.$RefinementCtx,
): void {
  const max = policy.limits?.attempts?.max;
  const retries = policy.action?.retries;
  if (typeof max !== 'number' || typeof retries !== 'number' || max * (1 + retries) <= MAX_AMPLIFICATION) return;
  // Reports the key that differs from its default; if both do, `action.retries`.
  const path = retries === DEFAULT_RETRIES ? ['limits', 'attempts', 'max'] : ['action', 'retries'];
  const message =
    `an entry could have up to ${max * (1 + retries)} attempts (${max} repairs of ${1 + retries} attempts each), ` +
    `and the maximum is ${MAX_AMPLIFICATION}; lower limits.attempts.max or action.retries`;
  context.addIssue({ code: 'custom', path, message });
}

const deleteSettings = <S extends z.ZodMiniType, A extends z.ZodMiniType>(
  keys: Keys,
  own: { readonly select: S; readonly action: A },
) =>
  policyOf(keys, true, {
    select: select(own.select),
    where: described(ENTRY_WHERE, someText),
    action: action(own.action),
    limits: limits(deleteLimits()),
  });

const pruneSettings = (keys: Keys) =>
  policyOf(keys, true, {
    select: select(pruneSelect()),
    action: action(pruneAction()),
    limits: limits(pruneLimits()),
  });

const budgetRaiseSettings = (keys: Keys) =>
  policyOf(keys, false, {
    select: select(budgetSelect()),
    where: described('CEL expression over `spend` and `budget`. A true result requests a raise.', someText),
    action: action(budgetAction()),
    limits: limits(budgetLimits()),
  });

/** Built at its first use: it takes as long as all other schemas together, and many daemons have no policies. */
export const policySettings = z.lazy(() => {
  const keys = commonKeys();
  return toldApart(
    [
      ['action', 'type'],
      ['select', 'resource'],
    ],
    z.union([
      repairSettings(keys, { select: workflowDlqSelect(), action: resumeAction(), by: 'workflowUrl' }),
      deleteSettings(keys, { select: workflowDlqSelect(), action: workflowDeleteAction() }),
      repairSettings(keys, { select: deadLetterSelect(), action: republishAction(), by: 'url' }),
      deleteSettings(keys, { select: deadLetterSelect(), action: messageDeleteAction() }),
      pruneSettings(keys),
      budgetRaiseSettings(keys),
    ]),
  );
});

export const engineSettings = z.strictObject({
  mode: defaulted(
    'Upper limit for the mode of every policy. The environment variable OPSD_MODE can only lower it.',
    z.enum(POLICY_MODES),
    'enforce',
  ),
  protectedLabels: defaulted(
    'Labels of entries that no policy acts on. Exception: a prune, which lists no entries.',
    z.array(someText),
    ['no-auto', 'legal-hold'],
  ),
  killSwitchFile: optional('Path of a file. While the file exists, no policy acts.', someText),
  approvals: group('Pending plans.', {
    expireAfter: defaulted('Time after which a pending plan expires.', durationSetting({ min: '1m', max: '7d' }), '4h'),
  }),
  caps: group('Limits for all policies together.', {
    perHour: defaulted('Maximum number of actions of all policies in a sliding hour.', wholeNumber(1), 5_000),
    perDay: defaulted('Maximum number of actions of all policies in a sliding day.', wholeNumber(1), 20_000),
    deletesPerDay: defaulted('Maximum number of deletes of all policies in a sliding day.', wholeNumber(1), 1_000),
    spendUsdPerDay: defaulted(
      'Maximum cost of all actions in a sliding day, in dollars. Applies if a price is known.',
      z.number().check(z.gt(0)),
      5,
    ),
  }),
});

export type PolicySettings = z.output<typeof policySettings>;
export type EngineSettings = z.output<typeof engineSettings>;

/** Settings of one action. */
export type SettingsOf<T extends PolicySettings['action']['type']> = Extract<
  PolicySettings,
  { readonly action: { readonly type: T } }
>;

/** Type guard for both repairs. */
export function isOfRepair(
  settings: PolicySettings,
): settings is SettingsOf<'workflow-dlq.resume'> | SettingsOf<'message-dlq.republish'> {
  return isRepair(settings.action.type);
}

/** Type guard: TypeScript does not discriminate a union by a nested key. */
export function isOf<T extends PolicySettings['action']['type']>(
  settings: PolicySettings,
  type: T,
): settings is SettingsOf<T> {
  return settings.action.type === type;
}
