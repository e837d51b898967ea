/** Settings of what people are told, and where. */
import { z } from 'zod';
import { oneSecret, secret, secretFile } from '#service/settings.ts';
import { always, baseUrlSetting, durationSetting } from '#foundation/platform/settings.ts';

const HEADER = 'expected the name of a header';
const LABEL = 'expected letters, digits and underscores';
const URL_TEXT = 'expected a URL that begins with http:// or https://';

const access = {
  token: secret('Bearer token that is sent along').exactOptional(),
  tokenFile: secretFile('a bearer token that is sent along').exactOptional(),
  headers: z
    .record(
      z.string().regex(/^[A-Za-z0-9-]+$/, HEADER),
      z.string().regex(/^[\t\x20-\x7E]*$/, 'expected printable text'),
    )
    .default({})
    .describe('Headers sent along.'),
};

const webhookSettings = z
  .strictObject({
    url: z
      .string()
      .refine((text) => /^https?:\/\/./.test(text) && URL.canParse(text), URL_TEXT)
      .describe('URL of the webhook. Prefer the file where the URL is the secret.')
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
    .describe('Where notifications go as JSON, one POST when a condition becomes active and one when it is resolved.'),
  alertmanager: z
    .strictObject({
      url: baseUrlSetting().describe('Base URL of the Alertmanager; `/api/v2/alerts` is appended.'),
      ...access,
      labels: z
        .record(z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, LABEL), z.string())
        .default({})
        .describe('Labels that every alert gets, such as the cluster.'),
      resendEvery: durationSetting({ min: '1s', max: '1h' })
        .prefault('1m')
        .describe('How often alerts that stand are sent again; four times this without one, they end by themselves.'),
    })
    .superRefine(oneSecret('token', 'optional'), always)
    .exactOptional()
    .describe('Where notifications go as alerts.'),
  infoAfter: durationSetting({ min: '0s', max: '7d' })
    .prefault('15m')
    .describe('How long a condition of severity info lasts before people are told; all others are told at once.'),
  owners: z
    .record(z.string().min(1), z.strictObject({ webhook: webhookSettings.describe('The webhook of this owner.') }))
    .default({})
    .describe('Owners of policies who are told by a webhook of their own, in place of the one above.'),
});

export type NotificationSettings = z.output<typeof notificationSettings>;

/** What receivers have in common. */
export interface ReceiverSettings {
  readonly url?: string;
  readonly urlFile?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly headers: Readonly<Record<string, string>>;
}
