/** Complete configuration, composed of the settings of every room. */
import * as z from 'zod/mini';
import { clientSettings, managementApiSettings, messageApiSettings, wireSettings } from '#service/settings.ts';
import { canariesSettings } from '#observe/canary/settings.ts';
import { collectorsSettings } from '#observe/collectors/settings.ts';
import { metricsSettings } from '#observe/metrics/settings.ts';
import { deliveryEventsSettings, traceSettings } from '#observe/tracing/settings.ts';
import { POLICY_MODES } from '#foundation/domain/plan.ts';
import { notificationSettings } from '#operate/notifications/settings.ts';
import { LOG_LEVELS } from '#foundation/platform/logger.ts';
import {
  crossCheck,
  defaulted,
  described,
  durationSetting,
  group,
  wholeNumber,
  matching,
  oneSecret,
  optional,
  secretFile,
  settingsBlock,
  sizeSetting,
  someText,
  withMeta,
} from '#foundation/settings/blocks.ts';
import { engineSettings, policySettings } from '#automate/policies/settings.ts';
import { hooksSettings, serverSettings } from '#operate/http/settings.ts';
import { storageSettings } from '#storage/settings.ts';

const names = (what: string) => defaulted(what, z.array(someText), []);

const ACCOUNT_NAME = 'expected letters, digits, dots, hyphens and underscores, at most 63';

/** Keys of the shortest configuration, which replace those of `messageApi`. */
const shortForm = {
  url: optional('Short form of messageApi.url.', messageApiSettings.shape.url),
  token: withMeta(z.exactOptional(someText), { description: 'Short form of messageApi.token.', writeOnly: true }),
  tokenFile: optional('Short form of messageApi.tokenFile.', someText),
};

const limit = (what: string) => optional(what, wholeNumber(1));

/** Limits of the account that no operation of the service reads. */
const limitSettings = z.strictObject({
  dlqMessages: limit('Maximum number of messages in the DLQ (max_dlq_size).'),
  requestsPerDay: limit('Soft limit of requests a day (max_requests_per_day).'),
  requestsPerDayHard: limit('Hard limit of requests a day (max_requests_per_day_hard).'),
  requestsPerSecond: limit('Maximum number of requests a second (max_requests_per_second).'),
  parallelism: limit('Maximum number of deliveries to one endpoint at the same time (max_parallelism).'),
  globalParallelism: limit('Maximum number of deliveries to all endpoints at the same time (max_global_parallelism).'),
  priceUsdPer100kMessages: optional(
    'Dollars for 100,000 messages. With a price, engine.caps.spendUsdPerDay limits the cost of resumes.',
    z.number().check(z.positive(), z.maximum(10_000)),
  ),
  dlqRetention: optional(
    'Retention of the DLQs. Without it, expired entries cannot be distinguished from entries that others removed.',
    durationSetting({ min: '1m', max: '3650d' }),
  ),
});

const BUDGET = 'expected 0 for no limit, or 20 to 10000';
const ASSERTED_ON = 'expected a day such as 2026-11-01';

/** Monthly budget, which no operation of the service reads. */
const budgetSettings = z.strictObject({
  knownUsd: described(
    'Dollars a month, 20 to 10000; 0 if there is no limit.',
    z.int(BUDGET).check(
      z.maximum(10_000, BUDGET),
      z.refine((dollars) => dollars === 0 || dollars >= 20, BUDGET),
    ),
  ),
  assertedOn: optional(
    'Day on which knownUsd was correct; change it together with knownUsd. Required for policies that raise the budget.',
    z.pipe(
      z.iso.date(ASSERTED_ON),
      // Midnight UTC, epoch milliseconds.
      z.transform((day) => Date.parse(day)),
    ),
  ),
  maxAge: defaulted(
    'Age after which policies no longer use knownUsd.',
    durationSetting({ min: '1d', max: '366d' }),
    '45d',
  ),
});

/** Bodies of failed messages. */
const bodySettings = z
  .strictObject({
    keep: defaulted(
      'Time that a body is kept, if its dead letter does not expire earlier (limits.dlqRetention).',
      durationSetting({ max: '90d' }),
      '7d',
    ),
    maxBytes: defaulted(
      'Maximum size of a body; larger ones are not kept.',
      sizeSetting({ min: '1KiB', max: '48MiB' }),
      '1MiB',
    ),
    maxTotal: defaulted(
      'Maximum size of all bodies of the account, with their headers; the oldest are dropped.',
      sizeSetting({ min: '1MiB', max: '1024GiB' }),
      '1GiB',
    ),
    keyFile: secretFile(
      'the keys of bodies and headers: 32 bytes as hexadecimal or base64, one key a line. The first one seals, all open. Without keys, bodies are stored in clear',
    ),
  })
  .check(
    crossCheck(({ maxBytes, maxTotal }, context) => {
      if (!(maxBytes > maxTotal)) return;
      context.addIssue({ code: 'custom', path: ['maxBytes'], message: 'must be at most maxTotal' });
    }),
  );

const accountSettings = z
  .strictObject({
    name: described(
      'Name of the account in metrics, policies and pages.',
      matching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/, ACCOUNT_NAME),
    ),
    messageApi: optional('Message delivery and workflow API.', messageApiSettings),
    managementApi: optional('Account and index management API.', managementApiSettings),
    ...shortForm,
    wire: settingsBlock('Names that differ between installations of the service.', wireSettings),
    client: settingsBlock('Limits for the daemon’s own requests.', clientSettings),
    flowControlKeys: names('Flow-control keys to watch.'),
    searchIndexes: names('Ids of search indexes to watch.'),
    vectorIndexes: names('Ids of vector indexes to watch.'),
    limits: settingsBlock('Limits of the account, which the service does not report.', limitSettings),
    budget: optional('Monthly budget of the account, which the service does not report.', budgetSettings),
    deadLetters: group('Dead letters of messages, as failure callbacks report them.', {
      bodies: optional(
        'Keeps the bodies and headers of dead letters, so that operators can read them. Default: none are kept.',
        bodySettings,
      ),
    }),
    mode: defaulted('Upper limit for the mode of every policy on this account.', z.enum(POLICY_MODES), 'enforce'),
    collectors: settingsBlock('Collectors and their schedules.', collectorsSettings),
    canaries: canariesSettings,
  })
  .check(
    crossCheck((value, context) => {
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
    }),
  );

const logSettings = z.strictObject({
  level: defaulted('Minimum level of log lines.', z.enum(LOG_LEVELS), 'info'),
  format: optional('json or text; default: text on a terminal, json elsewhere.', z.enum(['json', 'text'])),
});

export const configSettings = z.strictObject({
  version: defaulted('Version of this format.', z.literal(1, 'expected 1; other versions need a newer opsd'), 1),
  server: settingsBlock('HTTP server of the daemon.', serverSettings),
  storage: settingsBlock('Storage of the state.', storageSettings),
  accounts: described(
    'Accounts of the service. Each needs a name, and at least url and tokenFile.',
    z.array(accountSettings).check(z.minLength(1)),
  ),
  telemetry: settingsBlock(
    'Metrics and traces.',
    z.strictObject({ metrics: metricsSettings, deliveryEvents: deliveryEventsSettings, traces: traceSettings }),
  ),
  log: settingsBlock('Logs, on standard error.', logSettings),
  engine: settingsBlock('Settings for all policies.', engineSettings),
  hooks: settingsBlock('Webhooks that receive alerts, and callbacks of the service.', hooksSettings),
  notifications: settingsBlock(
    'Receivers of notifications about holds, halts and pending plans.',
    notificationSettings,
  ),
  policies: defaulted('Policies.', z.array(policySettings), []),
  policyFiles: defaulted('Files with more policies. The last part of a path may contain `*`.', z.array(someText), []),
});

/** Format of a file of `policyFiles`. */
export const policyFileSettings = z.strictObject({
  policies: described('List of policies; each starts with a hyphen.', z.array(policySettings)),
});

export type AccountSettings = z.output<typeof accountSettings>;
export type ConfigSettings = z.output<typeof configSettings>;
