/** Settings of notifications and their receivers. */
import * as z from 'zod/mini';
import {
  baseUrlSetting,
  clientPairSettings,
  crossCheck,
  defaulted,
  described,
  durationSetting,
  matching,
  noHttpUrl,
  oneSecret,
  optional,
  secret,
  secretFile,
  settingsBlock,
  someText,
  wholeClientPair,
  withMeta,
} from '#foundation/settings/blocks.ts';

const HEADER = 'expected the name of a header';
const LABEL = 'expected letters, digits and underscores';

const access = {
  token: secret('Bearer token of the requests'),
  tokenFile: secretFile('the bearer token of the requests'),
  ...clientPairSettings,
  headers: settingsBlock(
    'Additional headers of the requests.',
    z.record(matching(/^[A-Za-z0-9-]+$/, HEADER), matching(/^[\t\x20-\x7E]*$/, 'expected printable text')),
  ),
};

const webhookSettings = z
  .strictObject({
    url: withMeta(
      z.exactOptional(
        z.string().check(
          z.superRefine((text, context) => {
            if (/^https?:\/\/./.test(text) && URL.canParse(text)) return;
            context.addIssue({ code: 'custom', message: noHttpUrl(text) });
          }),
        ),
      ),
      { description: 'URL of the webhook. Use urlFile if the URL is secret.', writeOnly: true },
    ),
    urlFile: secretFile('the URL of the webhook'),
    ...access,
  })
  .check(crossCheck(oneSecret('url')), crossCheck(oneSecret('token', 'optional')), crossCheck(wholeClientPair));

export const notificationSettings = z.strictObject({
  webhook: optional(
    'Receiver of notifications as JSON: one POST when a condition becomes active and one when it is resolved.',
    webhookSettings,
  ),
  alertmanager: optional(
    'Receiver of notifications as alerts.',
    z
      .strictObject({
        url: described('Base URL of the Alertmanager; `/api/v2/alerts` is appended.', baseUrlSetting()),
        ...access,
        labels: settingsBlock(
          'Labels of every alert, such as the cluster.',
          z.record(matching(/^[a-zA-Z_][a-zA-Z0-9_]*$/, LABEL), z.string()),
        ),
        resendEvery: defaulted(
          'Interval at which active alerts are sent again. Without a repetition, they end after four intervals.',
          durationSetting({ min: '1s', max: '1h' }),
          '1m',
        ),
      })
      .check(crossCheck(oneSecret('token', 'optional')), crossCheck(wholeClientPair)),
  ),
  infoAfter: defaulted(
    'Time after which a condition of severity info is reported. Other severities are reported at once.',
    durationSetting({ min: '0s', max: '7d' }),
    '15m',
  ),
  owners: settingsBlock(
    'Owners of policies with their own webhook, which replaces the common one.',
    z.record(someText, z.strictObject({ webhook: described('Webhook of this owner.', webhookSettings) })),
  ),
});

export type NotificationSettings = z.output<typeof notificationSettings>;

/** Settings of a receiver: those of a webhook, or the common ones of Alertmanager. */
export type ReceiverSettings = NonNullable<NotificationSettings['webhook']>;
