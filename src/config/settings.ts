/** The whole configuration, composed of every room's settings. */
import { z } from 'zod';
import {
  clientSettings,
  managementApiSettings,
  messageApiSettings,
  oneSecret,
  wireSettings,
} from '#service/settings.ts';
import { collectorsSettings } from '#observe/collectors/settings.ts';
import { metricsSettings } from '#observe/metrics/settings.ts';
import { deliveryEventsSettings, traceSettings } from '#observe/tracing/settings.ts';
import { POLICY_MODES } from '#foundation/domain/plan.ts';
import { notificationSettings } from '#operate/notifications/settings.ts';
import { LOG_LEVELS } from '#foundation/platform/logger.ts';
import { always, durationSetting } from '#foundation/platform/settings.ts';
import { engineSettings, policySettings } from '#automate/policies/settings.ts';
import { hooksSettings, serverSettings } from '#operate/http/settings.ts';
import { storageSettings } from '#storage/settings.ts';

const names = z.array(z.string().min(1)).default([]);

const ACCOUNT_NAME = 'expected letters, digits, dots, hyphens and underscores, at most 63';

/** Keys that stand for those of `messageApi` in the shortest configuration. */
const shortForm = {
  url: messageApiSettings.shape.url.exactOptional().describe('Short for messageApi.url.'),
  token: z.string().min(1).describe('Short for messageApi.token.').meta({ writeOnly: true }).exactOptional(),
  tokenFile: z.string().min(1).exactOptional().describe('Short for messageApi.tokenFile.'),
};

const limit = (what: string) => z.int().min(1).exactOptional().describe(what);

/** Limits of the account that no operation of the service reads. */
const limitSettings = z.strictObject({
  dlqMessages: limit('Messages that the DLQ holds (max_dlq_size).'),
  requestsPerDay: limit('Requests a day, the soft limit (max_requests_per_day).'),
  requestsPerDayHard: limit('Requests a day, the hard limit (max_requests_per_day_hard).'),
  requestsPerSecond: limit('Requests a second (max_requests_per_second).'),
  parallelism: limit('Deliveries to one endpoint at the same time (max_parallelism).'),
  globalParallelism: limit('Deliveries to all endpoints at the same time (max_global_parallelism).'),
  priceUsdPer100kMessages: z
    .number()
    .positive()
    .max(10_000)
    .exactOptional()
    .describe('Dollars for 100,000 messages; with it engine.caps.spendUsdPerDay bounds what resumes may cost.'),
  dlqRetention: durationSetting({ min: '1m', max: '3650d' })
    .exactOptional()
    .describe(
      'How long the service keeps a dead letter; without it nobody can tell what expires from what others removed.',
    ),
});

const BUDGET = 'expected 0 for no limit, or 20 to 10000';
const ASSERTED_ON = 'expected a day such as 2026-11-01';

/** The monthly budget, which no operation of the service reads. */
const budgetSettings = z.strictObject({
  knownUsd: z
    .int(BUDGET)
    .max(10_000, BUDGET)
    .refine((dollars) => dollars === 0 || dollars >= 20, BUDGET)
    .describe('Dollars a month, 20 to 10000; 0 when there is no limit.'),
  assertedOn: z.iso
    .date(ASSERTED_ON)
    // Midnight UTC, epoch milliseconds.
    .transform((day) => Date.parse(day))
    .exactOptional()
    .describe('Day on which that was known to be so; change it with the amount. Policies that raise it need it.'),
  maxAge: durationSetting({ min: '1d', max: '366d' })
    .prefault('45d')
    .describe('Age after which nobody acts on it any more.'),
});

const accountSettings = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/, ACCOUNT_NAME)
      .describe('Name of the account in metrics, policies and pages.'),
    messageApi: messageApiSettings.exactOptional().describe('The message delivery and workflow API.'),
    managementApi: managementApiSettings.exactOptional().describe('The account and index management API.'),
    ...shortForm,
    wire: wireSettings.prefault({}).describe('Names that differ between installations of the service.'),
    client: clientSettings.prefault({}).describe('What the daemon allows itself.'),
    flowControlKeys: names.describe('Flow-control keys to watch.'),
    searchIndexes: names.describe('Ids of search indexes to watch.'),
    vectorIndexes: names.describe('Ids of vector indexes to watch.'),
    limits: limitSettings.prefault({}).describe('Limits of the account, which the service does not show.'),
    budget: budgetSettings
      .exactOptional()
      .describe('The monthly budget of the account, which the service does not show.'),
    mode: z.enum(POLICY_MODES).default('enforce').describe('Ceiling for the mode of every policy on this account.'),
    collectors: collectorsSettings.prefault({}).describe('What is read, and when.'),
  })
  .superRefine((value, context) => {
    const short = Object.keys(shortForm).filter((key) => value[key as keyof typeof shortForm] !== undefined);
    if (value.messageApi !== undefined) {
      for (const key of short) {
        const message = `${key} is short for messageApi.${key}, and messageApi is given; move it there, or remove it`;
        context.addIssue({ code: 'custom', path: [key], message });
      }
    } else if (value.url !== undefined) {
      oneSecret('token', value.url === 'embedded' ? 'optional' : 'needed')(value, context);
    } else if (short.length > 0) {
      const message = 'a token without url; add the url of the message API';
      context.addIssue({ code: 'custom', message, params: { missing: ['url'] } });
    } else if (value.managementApi === undefined) {
      context.addIssue({
        code: 'custom',
        message: 'neither API is given; add url and tokenFile for the message API, or managementApi',
        params: { missing: ['url', 'messageApi', 'managementApi'] },
      });
    }
  }, always);

const logSettings = z.strictObject({
  level: z.enum(LOG_LEVELS).default('info').describe('Least level that is written.'),
  format: z
    .enum(['json', 'text'])
    .exactOptional()
    .describe('json or text; default: text on a terminal, json elsewhere.'),
});

export const configSettings = z.strictObject({
  version: z
    .literal(1, 'expected 1; a newer opsd may know other versions')
    .default(1)
    .describe('Version of this format.'),
  server: serverSettings.prefault({}).describe('The daemon’s own HTTP server.'),
  storage: storageSettings.prefault({}).describe('Where state is kept.'),
  accounts: z
    .array(accountSettings)
    .min(1)
    .describe('Accounts of the service; each has a name, and url and tokenFile at least.'),
  telemetry: z
    .strictObject({ metrics: metricsSettings, deliveryEvents: deliveryEventsSettings, traces: traceSettings })
    .prefault({})
    .describe('Metrics and traces.'),
  log: logSettings.prefault({}).describe('Logs, on standard error.'),
  engine: engineSettings.prefault({}).describe('What holds for all policies.'),
  hooks: hooksSettings.prefault({}).describe('What others tell the daemon: alerts, and callbacks of the service.'),
  notifications: notificationSettings.prefault({}).describe('Who is told when something holds, halts or waits.'),
  policies: z.array(policySettings).default([]).describe('Policies.'),
  policyFiles: z
    .array(z.string().min(1))
    .default([])
    .describe('Files with more policies; `*` may stand in the last part of a path.'),
});

/** A file of `policyFiles`. */
export const policyFileSettings = z.strictObject({
  policies: z.array(policySettings).describe('A list of policies, each begun with a hyphen.'),
});

export type AccountSettings = z.output<typeof accountSettings>;
export type ConfigSettings = z.output<typeof configSettings>;
