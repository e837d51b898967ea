/** Causes at the receiver and in front of it: the hooks listener, its proxies, and strangers that call it. */
import { request as httpRequest } from 'node:http';
import type { Random } from '#foundation/platform/random.ts';
import { TIMEOUT_MS, type Stage } from './stage.ts';
import { isCallback, isDelivery, isMessage, pick, WITH_CALLBACK, type Cause } from './cause.ts';
import type { Fate, Traveler } from './road.ts';

/** Header with the code of a message. */
const CODE = 'opsd-canary';

/** Sets the fate of requests to the hooks listener. */
function divert(stage: Stage, isMeant: (request: Traveler) => boolean, fate: Fate): void {
  stage.toReceiver.choose((request) => (isMeant(request) ? fate : 'pass'));
}

const everything = (): boolean => true;

const FAILING: readonly Cause[] = [
  {
    name: 'the receiver refuses connections',
    truth: ['receiver'],
    inject: ({ toReceiver }) => toReceiver.close(),
  },
  {
    name: 'the receiver breaks connections',
    truth: ['receiver'],
    inject: (stage) => divert(stage, everything, 'break'),
  },
  {
    name: 'the receiver hangs',
    truth: ['receiver'],
    inject: (stage) => divert(stage, everything, 'hang'),
  },
  {
    name: 'the receiver is slow',
    truth: ['receiver'],
    inject: (stage) => divert(stage, everything, { afterMs: 2 * TIMEOUT_MS }),
  },
  {
    name: 'the receiver answers slowly',
    truth: ['receiver', 'network'],
    // Later than the daemon waits for a report: an earlier one is in time.
    inject: (stage) => divert(stage, everything, { answerAfterMs: 3 * TIMEOUT_MS }),
  },
  {
    name: 'the receiver returns a status of its own',
    truth: ['receiver'],
    inject: (stage, random) => divert(stage, everything, { status: pick(random, [404, 500, 502, 503, 504]) }),
  },
  {
    name: 'the receiver rejects the service alone',
    truth: ['receiver'],
    inject: (stage, random) => divert(stage, isDelivery, { status: pick(random, [403, 406, 503]) }),
  },
  {
    name: 'a proxy of the receiver answers 200 by itself',
    truth: ['receiver'],
    inject: (stage) => divert(stage, everything, { status: 200, body: 'It works!' }),
  },
  {
    // A catch-all page for requests that it takes for those of a robot.
    name: 'a proxy of the receiver answers 200 to the service alone',
    truth: ['receiver'],
    inject: (stage) => divert(stage, isDelivery, { status: 200, body: 'It works!' }),
  },
  {
    name: 'the receiver rejects the callback alone',
    truth: ['receiver'],
    vias: WITH_CALLBACK,
    inject: (stage) => divert(stage, isCallback, { status: 503 }),
  },
  {
    name: 'a proxy of the receiver alters the message',
    truth: ['receiver', 'network'],
    signed: true,
    inject: (stage) =>
      stage.toReceiver.choose((request) => {
        if (!isMessage(request)) return 'pass';
        const body = Buffer.from(request.body);
        body[body.length - 1]! ^= 1;
        return { body };
      }),
  },
];

const WAY: readonly Cause[] = [
  {
    name: 'the responses of the receiver are lost',
    truth: ['network', 'receiver'],
    inject: (stage) => divert(stage, isDelivery, 'lose'),
  },
  {
    name: 'the connection of the callback breaks',
    truth: ['network', 'receiver'],
    vias: WITH_CALLBACK,
    inject: (stage) => divert(stage, isCallback, 'break'),
  },
];

interface Forged {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Sends a stranger's requests when the message is on its way, before and after it. */
function strangers(stage: Stage, forge: (message: Traveler) => readonly Forged[]): void {
  const send = (message: Traveler): void => {
    for (const { path = message.path, headers = {}, body } of forge(message)) {
      const outgoing = httpRequest(`${stage.daemon.hooks}${path}`, { method: 'POST', headers });
      outgoing.on('response', (answer) => answer.resume());
      outgoing.on('error', () => undefined);
      outgoing.end(body);
    }
  };
  stage.toReceiver.choose((request) => {
    if (isMessage(request)) {
      send(request);
      void stage.clock.after(1_000, () => send(request));
    }
    return 'pass';
  });
}

const own = ({ headers }: Traveler): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => name !== 'content-length' && name !== 'connection'),
  ) as Record<string, string>;

/** Returns a text with another letter somewhere. */
function damaged(text: string, random: Random): string {
  const at = Math.floor(random() * text.length);
  return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
}

const HOSTILE: readonly Cause[] = [
  {
    name: 'a stranger sends forged codes',
    truth: ['ok'],
    inject: (stage, random) =>
      strangers(stage, (message) => {
        const headers = own(message);
        const code = String(headers[CODE]);
        const forged = [
          damaged(code, random),
          damaged(code, random),
          `c${code.slice(1)}`,
          `p${code.slice(1)}`,
          '',
          'm..',
        ];
        return forged.map((text) => ({ headers: { ...headers, [CODE]: text }, body: message.body }));
      }),
  },
  {
    name: 'a stranger sends the body without its code',
    truth: ['ok'],
    inject: (stage) =>
      strangers(stage, (message) => {
        const { [CODE]: _, ...headers } = own(message);
        return [{ headers, body: message.body }, { body: Buffer.from('{}') }, { body: Buffer.alloc(0) }];
      }),
  },
  {
    name: 'a stranger who knows the code sends another body',
    truth: ['ok'],
    signed: true,
    inject: (stage) =>
      strangers(stage, (message) => {
        const { 'svc-signature': _, ...headers } = own(message);
        return [
          { headers, body: message.body },
          { headers: own(message), body: Buffer.from('another body') },
        ];
      }),
  },
  {
    name: 'a stranger sends the message of this canary to another one',
    truth: ['ok'],
    inject: (stage) =>
      strangers(stage, (message) =>
        [
          '/hooks/canary/production/other',
          '/hooks/canary/other/trip',
          '/hooks/canary/',
          '/hooks/canary/production/trip/callback',
        ].map((path) => ({ path, headers: own(message), body: message.body })),
      ),
  },
  {
    name: 'a stranger sends bodies of many megabytes',
    truth: ['ok'],
    inject: (stage) =>
      strangers(stage, (message) => {
        const { [CODE]: _, ...headers } = own(message);
        return [{ headers, body: Buffer.alloc(20_000_000, 'a') }];
      }),
  },
];

export const RECEIVER_CAUSES: readonly Cause[] = [...FAILING, ...WAY, ...HOSTILE];
