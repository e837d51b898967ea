/** Settings of canaries. */
import * as z from 'zod/mini';
import {
  crossCheck,
  defaulted,
  described,
  durationSetting,
  wholeNumber,
  matching,
  optional,
  someText,
} from '#foundation/settings/blocks.ts';

const CANARY_NAME = 'expected letters, digits, dots, hyphens and underscores, at most 63';

/** A body has at least a nonce and its code. */
const MIN_BYTES = 64;
const MAX_BYTES = 4_194_304;

const bytes = (initial: number, what: string) =>
  defaulted(`Size of the body of ${what}, in bytes.`, wholeNumber(MIN_BYTES, MAX_BYTES), initial);

const name = (what: string) => optional(what, someText.check(z.maxLength(256)));

const viaSettings = z
  .strictObject({
    flowControlKey: name('Flow-control key of the messages. They repeat its limits, and change none.'),
    urlGroup: name('URL Group of the messages. Its only endpoint must be the address of the canary.'),
    queue: name('Queue of the messages.'),
    workflow: optional(
      'True to trigger a workflow run of one request instead of a message.',
      z.literal(true, 'expected true'),
    ),
  })
  .check(
    crossCheck((value, context) => {
      if (Object.keys(value).length === 1) return;
      const message = 'must have exactly one of flowControlKey, urlGroup, queue and workflow';
      context.addIssue({ code: 'custom', message });
    }),
  );

const canarySettings = z.strictObject({
  name: described(
    'Name of the canary in metrics, policies and pages, and in `/hooks/canary/ACCOUNT/NAME`.',
    matching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/, CANARY_NAME),
  ),
  every: defaulted('Interval of the messages.', durationSetting({ min: '5s', max: '1d' }), '1m'),
  size: bytes(256, 'a message'),
  realSize: bytes(65_536, 'the less frequent message of a real size'),
  realEvery: defaulted(
    'Interval of the messages of a real size, at least `every`.',
    durationSetting({ min: '1m', max: '30d' }),
    '1h',
  ),
  timeout: defaulted(
    'Time until a message must have arrived and been reported. Then it gets its verdict.',
    durationSetting({ min: '1s', max: '1h' }),
    '1m',
  ),
  via: optional(
    'Route through the service: a flow-control key, a URL Group, a queue, or a workflow. Default: the URL.',
    viaSettings,
  ),
});

/** Maximum number of canaries of an account. */
const MAX_CANARIES = 20;

export const canariesSettings = defaulted(
  'Messages that the daemon sends to itself through the service, to find out who must act on a failure.',
  z.array(canarySettings).check(
    z.maxLength(MAX_CANARIES),
    crossCheck((canaries, context) => {
      // Another check reports a value of the wrong type.
      const all: readonly { readonly name?: unknown }[] = Array.isArray(canaries) ? canaries : [];
      for (const [index, one] of all.entries()) {
        if (all.findIndex((other) => other?.name === one?.name) === index) continue;
        const message = 'another canary of the account has this name; rename one';
        context.addIssue({ code: 'custom', path: [index, 'name'], message });
      }
    }),
  ),
  [],
);

/** Settings of one canary. */
export type CanarySettings = z.output<typeof canarySettings>;
