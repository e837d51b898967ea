/** Causes at the receiver and in front of it: the hooks listener, its proxies, and strangers that call it. */
import { request as httpRequest } from 'node:http';
import type { Random } from '#foundation/platform/random.ts';
import { TIMEOUT_MS, type Stage } from './stage.ts';
import { causes, isCallback, isDelivery, isMessage, pick, WITH_CALLBACK, type Cause } from './cause.ts';
import type { Fate, Traveler } from './road.ts';

/** Header with the code of a message. */
const CODE = 'opsd-canary';

/** Sets the fate of requests to the hooks listener. */
function divert(stage: Stage, isMeant: (request: Traveler) => boolean, fate: Fate): void {
  stage.toReceiver.choose((request) => (isMeant(request) ? fate : 'pass'));
}

const diverted = (isMeant: (request: Traveler) => boolean, fate: Fate) => (stage: Stage) =>
  divert(stage, isMeant, fate);

const everything = (): boolean => true;

const FAILING: readonly Cause[] = [
  ...causes(['receiver'], {
    'the receiver refuses connections': ({ toReceiver }) => toReceiver.close(),
    'the receiver breaks connections': diverted(everything, 'break'),
    'the receiver hangs': diverted(everything, 'hang'),
    'the receiver is slow': diverted(everything, { afterMs: 2 * TIMEOUT_MS }),
  }),
  ...causes(['receiver', 'network'], {
    // Later than the daemon waits for a report: an earlier one is in time.
    'the receiver answers slowly': diverted(everything, { answerAfterMs: 3 * TIMEOUT_MS }),
  }),
  ...causes(['receiver'], {
    'the receiver returns a status of its own': (stage, random) =>
      divert(stage, everything, { status: pick(random, [404, 500, 502, 503, 504]) }),
    'the receiver rejects the service alone': (stage, random) =>
      divert(stage, isDelivery, { status: pick(random, [403, 406, 503]) }),
    'a proxy of the receiver answers 200 by itself': diverted(everything, { status: 200, body: 'It works!' }),
    // A catch-all page for requests that it takes for those of a robot.
    'a proxy of the receiver answers 200 to the service alone': diverted(isDelivery, {
      status: 200,
      body: 'It works!',
    }),
    'the receiver rejects the callback alone': { vias: WITH_CALLBACK, inject: diverted(isCallback, { status: 503 }) },
  }),
  ...causes(['receiver', 'network'], {
    'a proxy of the receiver alters the message': {
      signed: true,
      inject: (stage) =>
        stage.toReceiver.choose((request) => {
          if (!isMessage(request)) return 'pass';
          const body = Buffer.from(request.body);
          body[body.length - 1]! ^= 1;
          return { body };
        }),
    },
  }),
];

const WAY = causes(['network', 'receiver'], {
  'the responses of the receiver are lost': diverted(isDelivery, 'lose'),
  'the connection of the callback breaks': { vias: WITH_CALLBACK, inject: diverted(isCallback, 'break') },
});

interface Forged {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Sends a stranger's requests when the message is on its way, before and after it. */
const strangers =
  (forge: (message: Traveler, random: Random) => readonly Forged[]) =>
  (stage: Stage, random: Random): void => {
    const send = (message: Traveler): void => {
      for (const { path = message.path, headers = {}, body } of forge(message, random)) {
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
  };

const own = ({ headers }: Traveler): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => name !== 'content-length' && name !== 'connection'),
  ) as Record<string, string>;

/** Returns a text with another letter somewhere. */
function damaged(text: string, random: Random): string {
  const at = Math.floor(random() * text.length);
  return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
}

const HOSTILE = causes(['ok'], {
  'a stranger sends forged codes': strangers((message, random) => {
    const headers = own(message);
    const code = String(headers[CODE]);
    const others = [`c${code.slice(1)}`, `p${code.slice(1)}`, '', 'm..'];
    return [damaged(code, random), damaged(code, random), ...others].map((text) => ({
      headers: { ...headers, [CODE]: text },
      body: message.body,
    }));
  }),
  'a stranger sends the body without its code': strangers((message) => {
    const { [CODE]: _, ...headers } = own(message);
    return [{ headers, body: message.body }, { body: Buffer.from('{}') }, { body: Buffer.alloc(0) }];
  }),
  'a stranger who knows the code sends another body': {
    signed: true,
    inject: strangers((message) => {
      const { 'svc-signature': _, ...headers } = own(message);
      return [
        { headers, body: message.body },
        { headers: own(message), body: Buffer.from('another body') },
      ];
    }),
  },
  'a stranger sends the message of this canary to another one': strangers((message) =>
    ['production/other', 'other/trip', '', 'production/trip/callback'].map((path) => ({
      path: `/hooks/canary/${path}`,
      headers: own(message),
      body: message.body,
    })),
  ),
  'a stranger sends bodies of many megabytes': strangers((message) => {
    const { [CODE]: _, ...headers } = own(message);
    return [{ headers, body: Buffer.alloc(20_000_000, 'a') }];
  }),
});

export const RECEIVER_CAUSES: readonly Cause[] = [...FAILING, ...WAY, ...HOSTILE];
