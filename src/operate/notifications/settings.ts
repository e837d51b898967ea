/** Settings of notifications and their receivers. */
import { z } from 'zod';
import {
  always,
  baseUrlSetting,
  durationSetting,
  oneSecret,
  secret,
  secretFile,
} from '#foundation/platform/settings.ts';

const HEADER = 'expected the name of a header';
const LABEL = 'expected letters, digits and underscores';
const URL_TEXT = 'expected a URL that begins with http:// or https://';

const access = {
  token: secret('Bearer token of the requests').exactOptional(),
  tokenFile: secretFile('the bearer token of the requests').exactOptional(),
  headers: z
    .record(
      z.string().regex(/^[A-Za-z0-9-]+$/, HEADER),
      z.string().regex(/^[\t\x20-\x7E]*$/, 'expected printable text'),
    )
    .default({})
    .describe('Additional headers of the requests.'),
};

const webhookSettings = z
  .strictObject({
    url: z
      .string()
      .refine((text) => /^https?:\/\/./.test(text) && URL.canParse(text), URL_TEXT)
      .describe('URL of the webhook. Use urlFile if the URL is secret.')
      .meta({ writeOnly: true })
      .exactOptional(),
    urlFile: secretFile('the URL of the webhook').exactOptional(),
    ...access,
  })
  .superRefine((value, context) => {
    oneSecret('url')(value, context);
    oneSecret('token', 'optional')(value, context);
  }, always);

export const notificationSettings = z.strictObject({
  webhook: webhookSettings
    .exactOptional()
    .describe(
      'Receiver of notifications as JSON: one POST when a condition becomes active and one when it is resolved.',
    ),
  alertmanager: z
    .strictObject({
      url: baseUrlSetting().describe('Base URL of the Alertmanager; `/api/v2/alerts` is appended.'),
      ...access,
      labels: z
        .record(z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, LABEL), z.string())
        .default({})
        .describe('Labels of every alert, such as the cluster.'),
      resendEvery: durationSetting({ min: '1s', max: '1h' })
        .prefault('1m')
        .describe(
          'Interval at which active alerts are sent again. Without a repetition, they end after four intervals.',
        ),
    })
    .superRefine(oneSecret('token', 'optional'), always)
    .exactOptional()
    .describe('Receiver of notifications as alerts.'),
  infoAfter: durationSetting({ min: '0s', max: '7d' })
    .prefault('15m')
    .describe('Time after which a condition of severity info is reported. Other severities are reported at once.'),
  owners: z
    .record(z.string().min(1), z.strictObject({ webhook: webhookSettings.describe('Webhook of this owner.') }))
    .default({})
    .describe('Owners of policies with their own webhook, which replaces the common one.'),
});

export type NotificationSettings = z.output<typeof notificationSettings>;

/** Common settings of receivers. */
export interface ReceiverSettings {
  readonly url?: string;
  readonly urlFile?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly headers: Readonly<Record<string, string>>;
}
