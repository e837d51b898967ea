/** Settings of an account's connection to the service. */
import { z } from 'zod';
import { HEADER_PREFIX, PRODUCT } from '#foundation/domain/wire-names.ts';
import {
  always,
  baseUrlSetting,
  durationSetting,
  oneSecret,
  secret,
  secretFile,
} from '#foundation/platform/settings.ts';

export const messageApiSettings = z
  .strictObject({
    url: baseUrlSetting({ or: 'embedded' }).describe(
      'Base URL of the message API, including the region; `embedded` starts the embedded service for this account.',
    ),
    token: secret('Token of the message API').exactOptional(),
    tokenFile: secretFile('the token of the message API').exactOptional(),
    actionToken: secret('Token used only for writes').exactOptional(),
    actionTokenFile: secretFile(
      'a token used only for writes, so that reading needs only a read-only token',
    ).exactOptional(),
  })
  .superRefine((value, context) => {
    oneSecret('token', value.url === 'embedded' ? 'optional' : 'needed')(value, context);
    oneSecret('actionToken', 'optional')(value, context);
  }, always);

export const managementApiSettings = z
  .strictObject({
    url: baseUrlSetting().describe('Base URL of the management API.'),
    accountId: z.string().min(1).describe('Id of the account (a UUID on most installations).'),
    username: z.string().min(1).describe('User of the basic authentication.'),
    password: secret('Password, or API key, of the basic authentication').exactOptional(),
    passwordFile: secretFile('the password').exactOptional(),
  })
  .superRefine(oneSecret('password'), always);

/** Units of bandwidth. The service reports bandwidth in one of them. */
export const BANDWIDTH_UNITS = ['B', 'kB', 'KiB', 'MB', 'MiB', 'GB', 'GiB'] as const;

export const wireSettings = z.strictObject({
  headerPrefix: z
    .string()
    .regex(HEADER_PREFIX.form, `expected ${HEADER_PREFIX.expected}`)
    .default('Svc')
    .describe('Brand prefix of the service’s own headers; `Svc` gives `Svc-Retries`.'),
  product: z
    .string()
    .regex(PRODUCT.form, `expected ${PRODUCT.expected}`)
    .default('msgsvc')
    .describe('Brand name in management paths, fields and plan names, as in `/v2/msgsvc/stats`.'),
  integrationEmailField: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected letters, digits and underscores')
    .default('integration_email')
    .describe('Field of a search index with the e-mail of a partner integration. Only its presence is read.'),
  bandwidthUnit: z
    .enum(BANDWIDTH_UNITS)
    .default('B')
    .describe(
      'Unit of daily bandwidths and bandwidth points in the statistics, which the service does not document. Other bandwidths are in bytes.',
    ),
});

export const clientSettings = z.strictObject({
  requestsPerSecond: z
    .number()
    .positive()
    .max(1_000)
    .default(10)
    .describe('Maximum requests per second that the daemon sends to each API.'),
  requestsPerDay: z
    .int()
    .positive()
    .default(200_000)
    .describe('Maximum requests per UTC day that the daemon sends to each API.'),
  timeout: durationSetting({ min: '100ms', max: '5m' })
    .prefault('10s')
    .describe('Maximum time until a response is complete.'),
  maxResponseBytes: z.int().min(1_024).default(33_554_432).describe('Maximum size of a response, in bytes.'),
});

export type MessageApiSettings = z.output<typeof messageApiSettings>;
export type WireSettings = z.output<typeof wireSettings>;
export type ClientSettings = z.output<typeof clientSettings>;
