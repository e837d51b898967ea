/**
 * Bodies of the control API. Unknown fields are rejected, so that a typing error causes no silent success. The types
 * are those of the in-process form too.
 */
import { z } from 'zod';
import type { PlanName } from '../state/account.ts';
import { PLAN_LIMITS } from '../state/limits.ts';
import { SWITCH_VALUES } from '../state/switches.ts';

const count = z.int().min(1).max(1_000_000);
const milliseconds = z.int().min(0);
const text = z.string().min(1);
const account = text.optional();
const plan = z.enum(Object.keys(PLAN_LIMITS) as PlanName[]).optional();

export const NOTHING = z.strictObject({});
export const OF_ACCOUNT = z.strictObject({ account });

export const MODE = z.strictObject({ mode: z.enum(['real', 'virtual', 'skip']) });
export const IDLE = z.strictObject({ limitMs: milliseconds.optional() });
export const ADVANCE = z.union([
  z.strictObject({ ms: milliseconds, patienceMs: milliseconds.optional() }),
  z.strictObject({ to: milliseconds, patienceMs: milliseconds.optional() }),
]);

export const ORIGIN = z.strictObject({ account, scheduleId: text.optional(), queueName: text.optional() });
export const NEXT_ORIGIN = ORIGIN.extend({ times: count.optional() });

export const ACCOUNT = z.strictObject({
  state: text.optional(),
  /** Null ends the change in progress. */
  modifyingState: text.nullable().optional(),
  plan,
  /** Only for the plan `enterprise`. */
  enterpriseId: text.optional(),
});
export const NEW_ACCOUNT = z.strictObject({
  id: text,
  token: text,
  readOnlyToken: text.optional(),
  plan,
  budgetUsd: z.int().min(0).max(10_000).optional(),
  state: text.optional(),
  modifyingState: text.optional(),
  enterpriseId: text.optional(),
  region: z.enum(['eu-central-1', 'us-east-1']).optional(),
  metricsEnabled: z.boolean().optional(),
  signingKeys: z.strictObject({ current: text.optional(), next: text.optional() }).optional(),
});
const rate = z.strictObject({ max: count, periodMs: count });
export const HOLD = z.strictObject({
  account,
  paused: z.boolean().optional(),
  /** Null removes the pin; absent keeps it. */
  parallelism: count.nullable().optional(),
  rate: rate.nullable().optional(),
});

export const SWITCHES = z.strictObject(
  Object.fromEntries(Object.entries(SWITCH_VALUES).map(([name, values]) => [name, z.literal(values).optional()])),
);

/** The account can be omitted when only one exists. */
export type OfAccount = z.infer<typeof OF_ACCOUNT>;
export type Advancing = z.infer<typeof ADVANCE>;
export type NextOrigin = z.infer<typeof NEXT_ORIGIN>;
export type AccountChange = z.infer<typeof ACCOUNT>;
export type HoldChange = z.infer<typeof HOLD>;
