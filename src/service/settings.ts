/** Settings of an account's connection to the service. */
import * as z from 'zod/mini';
import { HEADER_PREFIX, PRODUCT } from '#foundation/domain/wire-names.ts';
import {
  baseUrlSetting,
  clientPairSettings,
  crossCheck,
  defaulted,
  described,
  durationSetting,
  wholeNumber,
  matching,
  oneSecret,
  secret,
  secretFile,
  someText,
  wholeClientPair,
} from '#foundation/settings/blocks.ts';

export const messageApiSettings = z
  .strictObject({
    url: described(
      'Base URL of the message API, including the region; `embedded` starts the embedded service for this account.',
      baseUrlSetting({ or: 'embedded' }),
    ),
    token: secret('Token of the message API'),
    tokenFile: secretFile('the token of the message API'),
    actionToken: secret('Token used only for writes'),
    actionTokenFile: secretFile('a token used only for writes, so that reading needs only a read-only token'),
    ...clientPairSettings,
  })
  .check(
    crossCheck((value, context) => {
      oneSecret('token', value.url === 'embedded' ? 'optional' : 'needed')(value, context);
      oneSecret('actionToken', 'optional')(value, context);
      wholeClientPair(value, context);
    }),
  );

export const managementApiSettings = z
  .strictObject({
    url: described('Base URL of the management API.', baseUrlSetting()),
    accountId: described('Id of the account (a UUID on most installations).', someText),
    username: described('User of the basic authentication.', someText),
    password: secret('Password, or API key, of the basic authentication'),
    passwordFile: secretFile('the password'),
    ...clientPairSettings,
  })
  .check(
    crossCheck((value, context) => {
      oneSecret('password')(value, context);
      wholeClientPair(value, context);
    }),
  );

/** Units of bandwidth. The service reports bandwidth in one of them. */
export const BANDWIDTH_UNITS = ['B', 'kB', 'KiB', 'MB', 'MiB', 'GB', 'GiB'] as const;

export const wireSettings = z.strictObject({
  headerPrefix: defaulted(
    'Brand prefix of the service’s own headers; `Svc` gives `Svc-Retries`.',
    matching(HEADER_PREFIX.form, `expected ${HEADER_PREFIX.expected}`),
    'Svc',
  ),
  product: defaulted(
    'Brand name in management paths, fields and plan names, as in `/v2/msgsvc/stats`.',
    matching(PRODUCT.form, `expected ${PRODUCT.expected}`),
    'msgsvc',
  ),
  integrationEmailField: defaulted(
    'Field of a search index with the e-mail of a partner integration. Only its presence is read.',
    matching(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected letters, digits and underscores'),
    'integration_email',
  ),
  bandwidthUnit: defaulted(
    'Unit of daily bandwidths and bandwidth points in the statistics, which the service does not document. Other bandwidths are in bytes.',
    z.enum(BANDWIDTH_UNITS),
    'B',
  ),
});

export const clientSettings = z.strictObject({
  requestsPerSecond: defaulted(
    'Maximum requests per second that the daemon sends to each API.',
    z.number().check(z.positive(), z.maximum(1_000)),
    10,
  ),
  requestsPerDay: defaulted(
    'Maximum requests per UTC day that the daemon sends to each API.',
    z.int().check(z.positive()),
    200_000,
  ),
  timeout: defaulted('Maximum time until a response is complete.', durationSetting({ min: '100ms', max: '5m' }), '10s'),
  maxResponseBytes: defaulted('Maximum size of a response, in bytes.', wholeNumber(1_024), 33_554_432),
});

export type WireSettings = z.output<typeof wireSettings>;
export type ClientSettings = z.output<typeof clientSettings>;
