/**
 * The format of a seed: the state that a service begins with. The control API, the library and the files of `opsd
 * emulator --seed` share it. Fields are optional, and apply in the order of this file.
 */
import { z } from 'zod';
import { FAILURE_FUNCTION_STATES } from '../state/failure-function-state.ts';
import type { PlanName } from '../state/account.ts';
import { PLAN_LIMITS } from '../state/limits.ts';
import { INDEX_REGIONS, INDEX_TYPES } from '../statistics/indexes.ts';
import type { EmulatorSeed } from '../types/public.ts';
import { readPlace } from './scripted-hosts.ts';
import { readSteps } from './scripted-steps.ts';

/** Maximum per seed, because a seed that takes seconds blocks everything else. */
const MOST_IN_TOTAL = 20_000;

const whole = z.int().min(0);
const count = z.int().min(1).max(1_000_000);
const times = z.int().min(1).max(10_000).optional();
const text = z.string().min(1);
const httpUrl = z.url({ protocol: /^https?$/, error: 'expected a URL that begins with http:// or https://' });

const moment = z.union([z.number(), z.string()]).refine(isMoment, {
  error: 'expected a time such as 2026-11-20T12:00:00Z, or epoch milliseconds, from 2000 to 2099',
});

function isMoment(value: number | string): boolean {
  if (typeof value === 'string' && !/^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d))?$/.test(value)) return false;
  const time = new Date(value).getTime();
  return time >= Date.UTC(2000, 0) && time < Date.UTC(2100, 0);
}

const FAILURE = z.strictObject({
  url: httpUrl,
  /** Number of equal failures. Default 1. */
  count: times,
  body: z.string().optional(),
  labels: z.array(text).readonly().optional(),
  flowControlKey: text.optional(),
  /** Status of the failed attempts; absent means no response. */
  status: z.int().min(100).max(599).optional(),
  responseBody: z.string().optional(),
  /** Age of the failure. Default 0. */
  agoMs: whole.optional(),
});
const FAILED_RUN = FAILURE.extend({
  /** State of the failure function; absent means that none was called. One in progress is due in an hour. */
  failureFunctionState: z.enum(FAILURE_FUNCTION_STATES).optional(),
});

/** Settings of a published message: its header is the prefix and this name, with hyphens. */
export const MESSAGE_SETTINGS = [
  'method',
  'retries',
  'retryDelay',
  'delay',
  'notBefore',
  'timeout',
  'label',
  'flowControlKey',
  'flowControlValue',
  'callback',
  'failureCallback',
  'deduplicationId',
] as const;
const setting = z.union([text, z.number()]).optional();
const MESSAGE = z.strictObject({
  /** URL, or the name of a URL Group. */
  destination: text,
  count: times,
  body: z.string().optional(),
  /** Headers for the destination. */
  headers: z.record(text, z.string()).optional(),
  /** Triggers a workflow run instead. Default false. */
  workflow: z.boolean().optional(),
  ...(Object.fromEntries(MESSAGE_SETTINGS.map((name) => [name, setting])) as Record<
    (typeof MESSAGE_SETTINGS)[number],
    typeof setting
  >),
});

function listOf<T extends z.ZodType<{ readonly count?: number | undefined }>>(item: T) {
  const inAll = (all: readonly z.infer<T>[]): number => all.reduce((sum, { count: alike = 1 }) => sum + alike, 0);
  return z
    .array(item)
    .readonly()
    .refine((all) => inAll(all) <= MOST_IN_TOTAL, { error: `at most ${MOST_IN_TOTAL} in total` })
    .optional();
}

/** Reports the error of a place or its steps as an issue of that place. */
function readDestinations({ value, issues }: z.core.ParsePayload<Readonly<Record<string, unknown>>>): void {
  for (const [place, steps] of Object.entries(value)) {
    try {
      readPlace(place);
      readSteps(steps);
    } catch (error) {
      issues.push({ code: 'custom', input: steps, path: [place], message: (error as Error).message });
    }
  }
}

export const SEED = z.strictObject({
  /** Id of the account; optional if there is only one. */
  account: text.optional(),
  /** Time of the service at its start. A running service moves forward to it. */
  startAt: moment.optional(),
  plan: z.enum(Object.keys(PLAN_LIMITS) as PlanName[]).optional(),
  /** Monthly budget in dollars; 0 is unlimited. */
  budgetUsd: z.int().min(0).max(10_000).optional(),
  /** Limits of the account that differ from its plan, named as in the account record. */
  limits: z
    .strictObject(Object.fromEntries(Object.keys(PLAN_LIMITS.paid).map((name) => [name, whole.optional()])))
    .optional(),
  urlGroups: z
    .array(
      z.strictObject({
        name: text,
        endpoints: z
          .array(z.strictObject({ url: httpUrl, name: text.optional() }))
          .min(1)
          .readonly(),
      }),
    )
    .readonly()
    .optional(),
  /** Keys with pinned limits, or paused. */
  flowControlKeys: z
    .array(
      z.strictObject({
        key: text,
        paused: z.boolean().optional(),
        parallelism: count.optional(),
        rate: z.strictObject({ max: count, periodMs: count }).optional(),
      }),
    )
    .readonly()
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
    .readonly()
    .optional(),
  /** Ids of vector indexes without a search index. */
  vectorIndexes: z.array(text).readonly().optional(),
  /** Days of traffic that end now, for a service without traffic. */
  history: z
    .strictObject({
      /** Default 30. */
      days: z.int().min(1).max(31).optional(),
      /** Length of the last part, which is in the log too. Default 10. */
      logMinutes: z.int().min(0).max(1_440).optional(),
      /** Maximum number of its failures in each DLQ. Default 25. */
      deadLetters: z.int().min(0).max(10_000).optional(),
    })
    .optional(),
  /** Entries of the message DLQ. */
  deadLetters: listOf(FAILURE),
  /** Entries of the workflow DLQ. */
  failedRuns: listOf(FAILED_RUN),
  /** Steps of scripted destinations, by host or host/path. */
  destinations: z
    .record(text, z.array(z.union([z.number(), z.string(), z.record(z.string(), z.unknown())])))
    .check(readDestinations)
    .optional(),
  /** Messages that are published now, within the limits of the account. */
  messages: listOf(MESSAGE),
});

export type SeededRun = z.infer<typeof FAILED_RUN>;
export type SeededMessage = z.infer<typeof MESSAGE>;
export type Seed = EmulatorSeed & Pick<z.infer<typeof SEED>, 'account'>;

/** JSON Schema (draft 2020-12) of a seed, for editors. */
export function seedJsonSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(SEED, { io: 'input', target: 'draft-2020-12' });
  return { $schema, title: 'Seed of opsd emulator --seed', description: 'Unknown keys are errors.', ...schema };
}
