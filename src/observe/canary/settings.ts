/** Settings of canaries. */
import { z } from 'zod';
import { always, durationSetting } from '#foundation/platform/settings.ts';

const CANARY_NAME = 'expected letters, digits, dots, hyphens and underscores, at most 63';

/** A body has at least a nonce and its code. */
const MIN_BYTES = 64;
const MAX_BYTES = 4_194_304;

const bytes = (initial: number, what: string) =>
  z.int().min(MIN_BYTES).max(MAX_BYTES).default(initial).describe(`Size of the body of ${what}, in bytes.`);

const name = (what: string) => z.string().min(1).max(256).describe(what);

const viaSettings = z
  .strictObject({
    flowControlKey: name('Flow-control key of the messages. They repeat its limits, and change none.').exactOptional(),
    urlGroup: name('URL Group of the messages. Its only endpoint must be the address of the canary.').exactOptional(),
    queue: name('Queue of the messages.').exactOptional(),
    workflow: z
      .literal(true, 'expected true')
      .exactOptional()
      .describe('True to trigger a workflow run of one request instead of a message.'),
  })
  .superRefine((value, context) => {
    if (Object.keys(value).length === 1) return;
    const message = 'must have exactly one of flowControlKey, urlGroup, queue and workflow';
    context.addIssue({ code: 'custom', message });
  }, always);

const canarySettings = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/, CANARY_NAME)
    .describe('Name of the canary in metrics, policies and pages, and in `/hooks/canary/ACCOUNT/NAME`.'),
  every: durationSetting({ min: '5s', max: '1d' }).prefault('1m').describe('Interval of the messages.'),
  size: bytes(256, 'a message'),
  realSize: bytes(65_536, 'the less frequent message of a real size'),
  realEvery: durationSetting({ min: '1m', max: '30d' })
    .prefault('1h')
    .describe('Interval of the messages of a real size, at least `every`.'),
  timeout: durationSetting({ min: '1s', max: '1h' })
    .prefault('1m')
    .describe('Time until a message must have arrived and been reported. Then it gets its verdict.'),
  via: viaSettings
    .exactOptional()
    .describe('Route through the service: a flow-control key, a URL Group, a queue, or a workflow. Default: the URL.'),
});

/** Maximum number of canaries of an account. */
const MAX_CANARIES = 20;

export const canariesSettings = z
  .array(canarySettings)
  .max(MAX_CANARIES)
  .default([])
  .superRefine((canaries, context) => {
    // Another check reports a value of the wrong type.
    const all: readonly { readonly name?: unknown }[] = Array.isArray(canaries) ? canaries : [];
    for (const [index, one] of all.entries()) {
      if (all.findIndex((other) => other?.name === one?.name) === index) continue;
      const message = 'another canary of the account has this name; rename one';
      context.addIssue({ code: 'custom', path: [index, 'name'], message });
    }
  }, always)
  .describe('Messages that the daemon sends to itself through the service, to find out who must act on a failure.');

/** Settings of one canary. */
export type CanarySettings = z.output<typeof canarySettings>;
