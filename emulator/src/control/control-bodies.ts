/**
 * Bodies of the control API. Unknown fields are rejected, so that a typing error causes no silent success. The types
 * are those of the in-process form too.
 */
import { z } from 'zod';
import { FAILURE_FUNCTION_STATES } from '../state/failure-function-state.ts';
import type { PlanName } from '../state/account.ts';
import { PLAN_LIMITS } from '../state/limits.ts';
import { SWITCH_VALUES } from '../state/switches.ts';
import { INDEX_REGIONS, INDEX_TYPES } from '../statistics/indexes.ts';

/** Maximum per seed, because a seed that takes seconds blocks everything else. */
const MOST_FAILURES = 20_000;

const count = z.int().min(1).max(1_000_000);
const milliseconds = z.int().min(0);
const text = z.string().min(1);
const account = text.optional();
const plan = z.enum(Object.keys(PLAN_LIMITS) as PlanName[]).optional();
const httpUrl = z.url({ protocol: /^https?$/ });

export const NOTHING = z.strictObject({});
export const OF_ACCOUNT = z.strictObject({ account });

export const MODE = z.strictObject({ mode: z.enum(['real', 'virtual']) });
export const ADVANCE = z.union([
  z.strictObject({ ms: milliseconds, patienceMs: milliseconds.optional() }),
  z.strictObject({ to: milliseconds, patienceMs: milliseconds.optional() }),
]);

const FAILURE = z.strictObject({
  url: httpUrl,
  /** Number of equal failures. Default 1. */
  count: z.int().min(1).max(10_000).optional(),
  body: z.string().optional(),
  labels: z.array(text).readonly().optional(),
  flowControlKey: text.optional(),
  /** Status of the failed attempts; absent means no response. */
  status: z.int().min(100).max(599).optional(),
  responseBody: z.string().optional(),
  /** Age of the failure. Default 0. */
  agoMs: milliseconds.optional(),
});
const FAILED_RUN = FAILURE.extend({
  /** State of the failure function; absent means that none was called. One in progress is due in an hour. */
  failureFunctionState: z.enum(FAILURE_FUNCTION_STATES).optional(),
});
function listOf<T extends z.ZodType<{ readonly count?: number | undefined }>>(failure: T) {
  const inAll = (all: readonly z.infer<T>[]): number => all.reduce((sum, { count: alike = 1 }) => sum + alike, 0);
  return z
    .array(failure)
    .refine((all) => inAll(all) <= MOST_FAILURES, { error: `at most ${MOST_FAILURES} in total` })
    .optional();
}
export const SEED = z.strictObject({
  account,
  urlGroups: z
    .array(z.strictObject({ name: text, endpoints: z.array(z.strictObject({ url: httpUrl, name: account })).min(1) }))
    .optional(),
  indexes: z
    .array(
      z.strictObject({
        id: text.optional(),
        name: text,
        region: z.enum(INDEX_REGIONS).optional(),
        type: z.enum(INDEX_TYPES).optional(),
      }),
    )
    .optional(),
  /** Ids of vector indexes without a search index. */
  vectorIndexes: z.array(text).optional(),
  /** Messages of the message DLQ. */
  deadMessages: listOf(FAILURE),
  /** Runs of the workflow DLQ. */
  failedRuns: listOf(FAILED_RUN),
});
export const HISTORY = z.strictObject({
  account,
  days: z.int().min(1).max(31).optional(),
  logMinutes: z.int().min(0).max(1_440).optional(),
  deadLetters: z.int().min(0).max(10_000).optional(),
});

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
export const HOLD = z.strictObject({
  account,
  paused: z.boolean().optional(),
  /** Null removes the pin; absent keeps it. */
  parallelism: count.nullable().optional(),
  rate: z.strictObject({ max: count, periodMs: count }).nullable().optional(),
});

export const SWITCHES = z.strictObject(
  Object.fromEntries(Object.entries(SWITCH_VALUES).map(([name, values]) => [name, z.literal(values).optional()])),
);

/** The account can be omitted when only one exists. */
export type OfAccount = z.infer<typeof OF_ACCOUNT>;
export type Advancing = z.infer<typeof ADVANCE>;
export type SeededRun = z.infer<typeof FAILED_RUN>;
export type Seed = z.infer<typeof SEED>;
export type HistorySize = z.infer<typeof HISTORY>;
export type NextOrigin = z.infer<typeof NEXT_ORIGIN>;
export type AccountChange = z.infer<typeof ACCOUNT>;
export type HoldChange = z.infer<typeof HOLD>;
