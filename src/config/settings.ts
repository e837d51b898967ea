/** Complete configuration, composed of the settings of every room. */
import { z } from 'zod';
import { clientSettings, managementApiSettings, messageApiSettings, wireSettings } from '#service/settings.ts';
import { canariesSettings } from '#observe/canary/settings.ts';
import { collectorsSettings } from '#observe/collectors/settings.ts';
import { metricsSettings } from '#observe/metrics/settings.ts';
import { deliveryEventsSettings, traceSettings } from '#observe/tracing/settings.ts';
import { POLICY_MODES } from '#foundation/domain/plan.ts';
import { notificationSettings } from '#operate/notifications/settings.ts';
import { LOG_LEVELS } from '#foundation/platform/logger.ts';
import { always, durationSetting, oneSecret } from '#foundation/platform/settings.ts';
import { engineSettings, policySettings } from '#automate/policies/settings.ts';
import { hooksSettings, serverSettings } from '#operate/http/settings.ts';
import { storageSettings } from '#storage/settings.ts';

const names = z.array(z.string().min(1)).default([]);

const ACCOUNT_NAME = 'expected letters, digits, dots, hyphens and underscores, at most 63';

/** Keys of the shortest configuration, which replace those of `messageApi`. */
const shortForm = {
  url: messageApiSettings.shape.url.exactOptional().describe('Short form of messageApi.url.'),
  token: z.string().min(1).describe('Short form of messageApi.token.').meta({ writeOnly: true }).exactOptional(),
  tokenFile: z.string().min(1).exactOptional().describe('Short form of messageApi.tokenFile.'),
};

const limit = (what: string) => z.int().min(1).exactOptional().describe(what);

/** Limits of the account that no operation of the service reads. */
const limitSettings = z.strictObject({
  dlqMessages: limit('Maximum number of messages in the DLQ (max_dlq_size).'),
  requestsPerDay: limit('Soft limit of requests a day (max_requests_per_day).'),
  requestsPerDayHard: limit('Hard limit of requests a day (max_requests_per_day_hard).'),
  requestsPerSecond: limit('Maximum number of requests a second (max_requests_per_second).'),
  parallelism: limit('Maximum number of deliveries to one endpoint at the same time (max_parallelism).'),
  globalParallelism: limit('Maximum number of deliveries to all endpoints at the same time (max_global_parallelism).'),
  priceUsdPer100kMessages: z
    .number()
    .positive()
    .max(10_000)
    .exactOptional()
    .describe('Dollars for 100,000 messages. With a price, engine.caps.spendUsdPerDay limits the cost of resumes.'),
  dlqRetention: durationSetting({ min: '1m', max: '3650d' })
    .exactOptional()
    .describe(
      'Retention of the DLQs. Without it, expired entries cannot be distinguished from entries that others removed.',
    ),
});

const BUDGET = 'expected 0 for no limit, or 20 to 10000';
const ASSERTED_ON = 'expected a day such as 2026-11-01';

/** Monthly budget, which no operation of the service reads. */
const budgetSettings = z.strictObject({
  knownUsd: z
    .int(BUDGET)
    .max(10_000, BUDGET)
    .refine((dollars) => dollars === 0 || dollars >= 20, BUDGET)
    .describe('Dollars a month, 20 to 10000; 0 if there is no limit.'),
  assertedOn: z.iso
    .date(ASSERTED_ON)
    // Midnight UTC, epoch milliseconds.
    .transform((day) => Date.parse(day))
    .exactOptional()
    .describe(
      'Day on which knownUsd was correct; change it together with knownUsd. Required for policies that raise the budget.',
    ),
  maxAge: durationSetting({ min: '1d', max: '366d' })
    .prefault('45d')
    .describe('Age after which policies no longer use knownUsd.'),
});

const accountSettings = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/, ACCOUNT_NAME)
      .describe('Name of the account in metrics, policies and pages.'),
    messageApi: messageApiSettings.exactOptional().describe('Message delivery and workflow API.'),
    managementApi: managementApiSettings.exactOptional().describe('Account and index management API.'),
    ...shortForm,
    wire: wireSettings.prefault({}).describe('Names that differ between installations of the service.'),
    client: clientSettings.prefault({}).describe('Limits for the daemon’s own requests.'),
    flowControlKeys: names.describe('Flow-control keys to watch.'),
    searchIndexes: names.describe('Ids of search indexes to watch.'),
    vectorIndexes: names.describe('Ids of vector indexes to watch.'),
    limits: limitSettings.prefault({}).describe('Limits of the account, which the service does not report.'),
    budget: budgetSettings
      .exactOptional()
      .describe('Monthly budget of the account, which the service does not report.'),
    mode: z.enum(POLICY_MODES).default('enforce').describe('Upper limit for the mode of every policy on this account.'),
    collectors: collectorsSettings.prefault({}).describe('Collectors and their schedules.'),
    canaries: canariesSettings,
  })
  .superRefine((value, context) => {
    const short = Object.keys(shortForm).filter((key) => value[key as keyof typeof shortForm] !== undefined);
    if (value.messageApi !== undefined) {
      for (const key of short) {
        const message = `${key} is the short form of messageApi.${key}, but messageApi is present; move it there, or remove it`;
        context.addIssue({ code: 'custom', path: [key], message });
      }
    } else if (value.url !== undefined) {
      oneSecret('token', value.url === 'embedded' ? 'optional' : 'needed')(value, context);
    } else if (short.length > 0) {
      const message = 'the token has no url; add the url of the message API';
      context.addIssue({ code: 'custom', message, params: { missing: ['url'] } });
    } else if (value.managementApi === undefined) {
      context.addIssue({
        code: 'custom',
        message: 'the account has no API; add url and tokenFile for the message API, or managementApi',
        params: { missing: ['url', 'messageApi', 'managementApi'] },
      });
    }
  }, always);

const logSettings = z.strictObject({
  level: z.enum(LOG_LEVELS).default('info').describe('Minimum level of log lines.'),
  format: z
    .enum(['json', 'text'])
    .exactOptional()
    .describe('json or text; default: text on a terminal, json elsewhere.'),
});

export const configSettings = z.strictObject({
  version: z.literal(1, 'expected 1; other versions need a newer opsd').default(1).describe('Version of this format.'),
  server: serverSettings.prefault({}).describe('HTTP server of the daemon.'),
  storage: storageSettings.prefault({}).describe('Storage of the state.'),
  accounts: z
    .array(accountSettings)
    .min(1)
    .describe('Accounts of the service. Each needs a name, and at least url and tokenFile.'),
  telemetry: z
    .strictObject({ metrics: metricsSettings, deliveryEvents: deliveryEventsSettings, traces: traceSettings })
    .prefault({})
    .describe('Metrics and traces.'),
  log: logSettings.prefault({}).describe('Logs, on standard error.'),
  engine: engineSettings.prefault({}).describe('Settings for all policies.'),
  hooks: hooksSettings.prefault({}).describe('Webhooks that receive alerts, and callbacks of the service.'),
  notifications: notificationSettings
    .prefault({})
    .describe('Receivers of notifications about holds, halts and pending plans.'),
  policies: z.array(policySettings).default([]).describe('Policies.'),
  policyFiles: z
    .array(z.string().min(1))
    .default([])
    .describe('Files with more policies. The last part of a path may contain `*`.'),
});

/** Format of a file of `policyFiles`. */
export const policyFileSettings = z.strictObject({
  policies: z.array(policySettings).describe('List of policies; each starts with a hyphen.'),
});

export type AccountSettings = z.output<typeof accountSettings>;
export type ConfigSettings = z.output<typeof configSettings>;
