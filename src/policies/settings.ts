/** The language of policies, as far as it is built: resuming failed workflow runs. */
import { z } from 'zod';
import { POLICY_MODES } from '../domain/plan.ts';
import { always, durationSetting } from '../platform/settings.ts';
import { refineSchedule, scheduleKeys } from '../scheduler/settings.ts';

const name = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/, 'expected lower-case letters, digits and hyphens, at most 64');

/** A filter value goes into a comma-separated list on the wire: a comma would make two filters of one. */
const filterValue = z
  .string()
  .min(1)
  .regex(/^[^,]*$/, 'a comma would make two filters of this value; write two values');
const filterValues = z.array(filterValue).min(1);

const workflowDlqSelect = z
  .strictObject({
    resource: z.literal('workflow-dlq').describe('What is acted on.'),
    anyLabel: filterValues.exactOptional().describe('Entries with any of these labels.'),
    workflowUrl: filterValues.exactOptional().describe('Entries of any of these workflows.'),
    flowControlKey: filterValues.exactOptional().describe('Entries with any of these flow-control keys.'),
    failureFunctionState: z
      .array(z.enum(['CALLBACK_INPROGRESS', 'CALLBACK_SUCCESS', 'CALLBACK_FAIL', 'CALLBACK_CANCELED']))
      .min(1)
      .exactOptional()
      .describe('Entries whose failure function is in any of these states.'),
    failedWithin: durationSetting({ min: '1m' }).exactOptional().describe('Only entries that failed within this time.'),
    failedBefore: durationSetting({ min: '1s' })
      .exactOptional()
      .describe('Only entries that failed longer ago than this.'),
  })
  .superRefine((select, context) => {
    // A value that is no duration is still text here, and has its own complaint.
    if (typeof select.failedWithin !== 'number' || typeof select.failedBefore !== 'number') return;
    if (select.failedBefore < select.failedWithin) return;
    context.addIssue({
      code: 'custom',
      path: ['failedBefore'],
      message: 'must be shorter than failedWithin; as it is nothing can match',
    });
  }, always);

const workflowDlqResume = z.strictObject({
  type: z.literal('workflow-dlq.resume').describe('Resume each selected run, one request a run.'),
  retries: z
    .int()
    .min(0)
    .max(10)
    .exactOptional()
    .describe('Retries of the resumed run’s steps; default: what the run had.'),
});

const limitsSettings = z.strictObject({
  maxPerRun: z.int().min(1).max(10_000).default(100).describe('Acts of one run.'),
  maxPerHour: z.int().min(1).max(100_000).default(2_000).describe('Acts of a sliding hour.'),
  maxPerDay: z.int().min(1).max(1_000_000).default(10_000).describe('Acts of a sliding day.'),
  attempts: z
    .strictObject({
      max: z.int().min(1).max(20).default(3).describe('Resumes of one run, across all its returns to the DLQ.'),
      backoff: z
        .array(durationSetting({ min: '1s' }))
        .min(1)
        .prefault(['10m', '1h', '6h'])
        .describe('Waits after the first, second, … resume; the last one holds for all further ones.'),
    })
    .prefault({})
    .describe('How often one run is tried again.'),
});

export const policySettings = z
  .strictObject({
    name: name.describe('Name of the policy, unique in the configuration.'),
    description: z.string().exactOptional().describe('For people.'),
    owner: name.exactOptional().describe('Team that owns the policy.'),
    account: z.string().min(1).describe('Name of the account it acts on.'),
    mode: z
      .enum(POLICY_MODES)
      .default('audit')
      .describe('off: nothing; audit: decide and record; approve: wait for a person; enforce: act.'),
    ...scheduleKeys,
    select: workflowDlqSelect.describe('What the service is asked for: it can only narrow.'),
    where: z
      .string()
      .min(1)
      .default('entry.cause == "transient"')
      .describe('CEL expression over `entry` that an entry must meet.'),
    action: workflowDlqResume.describe('What is done to each chosen entry.'),
    limits: limitsSettings.prefault({}).describe('Limits; all are finite.'),
  })
  .superRefine(refineSchedule, always);

export const engineSettings = z.strictObject({
  mode: z
    .enum(POLICY_MODES)
    .default('enforce')
    .describe('Ceiling for the mode of every policy; OPSD_MODE in the environment can only lower it.'),
  protectedLabels: z
    .array(z.string().min(1))
    .default(['no-auto', 'legal-hold'])
    .describe('Entries with any of these labels are never acted on.'),
  killSwitchFile: z.string().min(1).exactOptional().describe('While this file exists nothing is done.'),
  caps: z
    .strictObject({
      perHour: z.int().min(1).default(5_000).describe('Acts of a sliding hour, all policies together.'),
      perDay: z.int().min(1).default(20_000).describe('Acts of a sliding day, all policies together.'),
    })
    .prefault({})
    .describe('Limits over all policies.'),
});

export type PolicySettings = z.output<typeof policySettings>;
export type EngineSettings = z.output<typeof engineSettings>;
