/** The verdict of everything that one cause can show is that cause, or `unknown`. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CanaryVerdict } from '#foundation/domain/canary.ts';
import type { RequestFailure, Route } from '#observe/canary/facts.ts';
import { verdictIn, type Outcome, type World } from './verdict-world.ts';

const ERRORS = [
  'getaddrinfo ENOTFOUND hooks.example',
  'connect ECONNREFUSED 192.0.2.1:443',
  'read ECONNRESET',
  'DEPTH_ZERO_SELF_SIGNED_CERT: self-signed certificate',
  'UND_ERR_CONNECT_TIMEOUT: Connect Timeout Error',
  'dial tcp: lookup hooks.example: no such host',
  'context deadline exceeded',
  'the moon is full',
];

const ROUTES = ['url', 'flowControlKey', 'urlGroup', 'queue', 'workflow'] as const satisfies readonly Route[];
/** A workflow run has no callback. */
const WITH_CALLBACK: readonly Route[] = ['url', 'flowControlKey', 'urlGroup', 'queue'];

/** Returns worlds in which all goes well, with any times. */
const worlds = (routes: readonly Route[] = ROUTES): fc.Arbitrary<World> =>
  fc
    .record({
      route: fc.constantFrom(...routes),
      timeoutMs: fc.integer({ min: 1_000, max: 3_600_000 }),
      publishMs: fc.integer({ min: 1, max: 900 }),
      share: fc.integer({ min: 2, max: 10 }),
      attemptTakesMs: fc.integer({ min: 1, max: 50 }),
      callbackMs: fc.integer({ min: 1, max: 40 }),
      logsResponses: fc.boolean(),
    })
    .map(({ publishMs, share, callbackMs, ...rest }) => ({
      ...rest,
      ...(rest.route !== 'workflow' && { attemptMs: Math.max(500, Math.floor(rest.timeoutMs / share)) }),
      publish: { afterMs: publishMs, messageId: 'm' },
      heldMs: 0,
      outcome: { kind: 'delivered' },
      extra: 0,
      altered: false,
      lagMs: 0,
      unlogged: [],
      callback: { afterMs: callbackMs, outcome: 'delivered' },
      receiver: 'answers',
      elsewhere: true,
      flow: false,
    }));

type Change = (world: World) => World;

const change =
  (parts: Partial<World>): Change =>
  (world) => ({ ...world, ...parts });
/** @param times the timeout times this */
const heldFor =
  (times: number): Change =>
  (world) => ({ ...world, heldMs: Math.ceil(world.timeoutMs * times) });
const late =
  (times: number): Change =>
  (world) => ({ ...world, lagMs: Math.ceil(world.timeoutMs * times) });

interface Cause {
  readonly name: string;
  readonly truth: readonly CanaryVerdict[];
  readonly routes?: readonly Route[];
  readonly changes: fc.Arbitrary<Change>;
}

const PROXIED = fc.constantFrom(400, 403, 404, 429, 500, 502, 503, 504);

const failing = (outcome: fc.Arbitrary<Outcome>, parts: Partial<World> = {}): fc.Arbitrary<Change> =>
  outcome.map((one) => change({ ...parts, outcome: one }));

const publishFails = (codes: readonly RequestFailure['code'][], status?: number, parts: Partial<World> = {}) =>
  fc
    .tuple(fc.constantFrom(...codes), fc.boolean(), fc.integer({ min: 1, max: 5_000 }))
    .map(([code, isLost, afterMs]) => {
      const isRejected = !isLost || status !== undefined;
      const failure = { code, message: code, ...(status !== undefined && { status }) };
      return change({ publish: { afterMs, isRejected, failure }, ...parts });
    });

const logFails = (code: RequestFailure['code'], status?: number): Pick<World, 'logError'> => ({
  logError: { afterMs: 0, failed: { code, message: code, ...(status !== undefined && { status }) } },
});

const CAUSES: readonly Cause[] = [
  { name: 'nothing', truth: ['ok'], changes: fc.constant(change({})) },
  {
    name: 'the service rejects or loses the publish',
    truth: ['service', 'ok'],
    changes: fc.oneof(publishFails(['server_error'], 503), publishFails(['timeout', 'connection', 'dns', 'tls'])),
  },
  {
    name: 'the network of the daemon',
    truth: ['unknown'],
    changes: publishFails(['timeout', 'connection', 'dns', 'tls'], undefined, {
      heldMs: Infinity,
      elsewhere: false,
      receiver: 'fails',
      ...logFails('connection'),
    }),
  },
  {
    name: 'a stranger that answers in place of the service',
    truth: ['unknown'],
    changes: publishFails(['malformed', 'redirect', 'not_found', 'client_error']),
  },
  {
    name: 'the account',
    truth: ['account'],
    changes: fc.oneof(
      publishFails(['unauthorized'], 401),
      publishFails(['forbidden'], 403),
      publishFails(['rate_limited'], 429),
      publishFails(['client_error'], 413),
    ),
  },
  {
    name: 'the budget of the account, after the publish',
    truth: ['account'],
    changes: fc.constant(change({ outcome: { kind: 'unreachable', error: 'quota exhausted: the budget is spent' } })),
  },
  {
    name: 'a flow-control key that holds',
    truth: ['throttled'],
    routes: ['flowControlKey'],
    changes: fc.constantFrom(true, 'unknown' as const).map((flow) => change({ heldMs: Infinity, flow })),
  },
  {
    name: 'a service that holds the message',
    truth: ['service'],
    changes: fc.constantFrom(1.01, 1.5, 2.5, 100, Infinity).map(heldFor),
  },
  {
    name: 'the way to the receiver',
    truth: ['network'],
    changes: failing(
      fc.oneof(
        fc.constantFrom(...ERRORS).map((error): Outcome => ({ kind: 'unreachable', error })),
        fc.constantFrom('proxy' as const, 'nobody' as const).map((by): Outcome => ({ kind: 'response-lost', by })),
      ),
    ),
  },
  {
    name: 'a receiver that hangs',
    truth: ['receiver'],
    changes: failing(fc.constantFrom<Outcome>({ kind: 'hangs' }, { kind: 'answers-late' }), { receiver: 'fails' }),
  },
  {
    name: 'a receiver that answers by itself',
    truth: ['receiver'],
    changes: fc.constantFrom('answers' as const, 'other' as const).chain((receiver) =>
      failing(
        PROXIED.map((status): Outcome => ({ kind: 'proxy', status })),
        { receiver },
      ),
    ),
  },
  {
    name: 'a receiver that rejects',
    truth: ['receiver'],
    changes: failing(fc.constantFrom(413, 500, 503).map((status): Outcome => ({ kind: 'rejected', status }))),
  },
  {
    name: 'a proxy of the receiver that answers 200 by itself',
    truth: ['receiver'],
    changes: fc.constantFrom('other' as const, 'answers' as const).map((receiver) =>
      change({
        outcome: { kind: 'proxy', status: 200 },
        receiver,
        callback: { afterMs: 1, outcome: 'delivered' },
      }),
    ),
  },
  {
    name: 'a service that alters or repeats',
    truth: ['service'],
    changes: fc.constantFrom({ altered: true }, { extra: 1 }, { extra: 3 }).map(change),
  },
  {
    name: 'a service that reports what it did not do',
    truth: ['service', 'service_reporting'],
    changes: fc.constant(change({ outcome: { kind: 'invented', status: 200 } })),
  },
  {
    name: 'a service that reports a status that it did not get',
    truth: ['service_reporting', 'service'],
    changes: fc.constantFrom(400, 404, 500, 502).map((status) => change({ outcome: { kind: 'misreported', status } })),
  },
  {
    name: 'a log that is late or has gaps',
    truth: ['service_reporting', 'service', 'ok'],
    changes: fc.oneof(
      fc.constantFrom(0.5, 1.2, 1.9, 2.5, 100).map(late),
      fc.constant(change({ unlogged: ['DELIVERED'] })),
      fc.constant(change({ unlogged: ['CREATED', 'ACTIVE', 'DELIVERED'] })),
    ),
  },
  {
    name: 'a log that cannot be read, because of the account',
    truth: ['account', 'ok'],
    changes: fc.constantFrom(
      change(logFails('unauthorized', 401)),
      change(logFails('forbidden', 403)),
      change(logFails('rate_limited', 429)),
    ),
  },
  {
    name: 'a service without a callback',
    truth: ['service_reporting'],
    routes: WITH_CALLBACK,
    changes: fc.constant(({ callback: _callback, ...world }) => world),
  },
  {
    name: 'a receiver that rejects the callback',
    truth: ['receiver'],
    routes: WITH_CALLBACK,
    changes: fc.constant(change({ callback: { afterMs: 1, outcome: 'rejected' } })),
  },
  {
    name: 'the way of the callback',
    truth: ['network'],
    routes: WITH_CALLBACK,
    changes: fc.constant(change({ callback: { afterMs: 1, outcome: 'unreachable' } })),
  },
];

describe('the verdict', () => {
  test.each(CAUSES)('$name: $truth or unknown', ({ truth, routes, changes }) => {
    const seen = new Set<CanaryVerdict>();
    fc.assert(
      fc.property(worlds(routes), changes, (world, applied) => {
        const { verdict, reason } = verdictIn(applied(world));
        expect([...truth, 'unknown'], reason).toContain(verdict);
        seen.add(verdict);
      }),
      { numRuns: 300 },
    );
    expect([...seen], 'a verdict that is never known helps nobody').toContain(truth[0]);
  });

  test('two causes: one of them, or unknown', () => {
    const any = fc.constantFrom(...CAUSES.filter(({ routes }) => routes === undefined));
    fc.assert(
      fc.property(
        worlds(),
        any.chain(({ changes, ...cause }) => changes.map((applied) => ({ ...cause, applied }))),
        any.chain(({ changes, ...cause }) => changes.map((applied) => ({ ...cause, applied }))),
        (world, one, other) => {
          const { verdict, reason } = verdictIn(other.applied(one.applied(world)));
          expect([...one.truth, ...other.truth, 'unknown'], `${one.name} + ${other.name}: ${reason}`).toContain(
            verdict,
          );
        },
      ),
      { numRuns: 3_000 },
    );
  });
});
