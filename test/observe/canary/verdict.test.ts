/** The verdict follows from the facts: each row of the table, and what no combination of facts may lead to. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CANARY_VERDICTS } from '#foundation/domain/canary.ts';
import { FAILURE_REASONS } from '#foundation/domain/reason.ts';
import { SERVICE_ERROR_CODES, type ServiceErrorCode } from '#foundation/domain/service-error.ts';
import type { CanaryFacts, LogReading, RequestFailure } from '#observe/canary/facts.ts';
import { judgeCanary, type CanaryStep } from '#observe/canary/verdict.ts';

const T = 60_000;
const DONE = 2 * T;

const base: CanaryFacts = {
  route: 'url',
  size: 'small',
  timeoutMs: T,
  attemptMs: 30_000,
  publish: { afterMs: 50, messageId: 'm' },
  arrivals: [],
  rejections: [],
  isKnownService: true,
  logsResponses: false,
};
const arrived = [{ afterMs: 200, altered: false, answerMs: 3 }];
const late = [{ afterMs: T + 1, altered: false }];
const callback = { afterMs: 300, status: 202 };
const log = (state: Exclude<LogReading, { failed: unknown }>['state'], more: object = {}): LogReading => ({
  afterMs: DONE,
  state,
  ...more,
});
const failure = (reason: (typeof FAILURE_REASONS)[number], status?: number): LogReading =>
  log('failed', { failure: { reason, ...(status !== undefined && { status }), error: reason } });
const unread = (code: ServiceErrorCode): LogReading => ({ afterMs: DONE, failed: { code, message: code } });
const rejected = (code: RequestFailure['code'], status?: number, message: string = code): Partial<CanaryFacts> => ({
  publish: { afterMs: 50, isRejected: false, failure: { code, message, status } },
});
const told = (error: string): LogReading => log('failed', { failure: { reason: 'other', error } });
const reported = { arrivals: arrived, log: log('delivered') };
/** The message arrived, and the log says something about it. */
const seen = (reading: LogReading, more: Partial<CanaryFacts> = {}): Partial<CanaryFacts> => ({
  arrivals: arrived,
  log: reading,
  ...more,
});
const answers = { receiver: 'answers' } as const;
const fails = { receiver: 'fails' } as const;
const responding = (reading: LogReading): LogReading => ({ ...reading, hasResponse: true });
/** The receiver answers, and the log has responses of earlier messages. */
const proving = { ...answers, logsResponses: true } as const;
const called = (status: number) => ({ ...reported, callback: { afterMs: 300, status } });
const twice = (more: object) => ({
  ...reported,
  arrivals: [...arrived, { afterMs: 201, altered: false, ...more }],
  callback,
});
const token = { status: 404, reason: 'token' } as const;
const signature = { ...token, reason: 'signature' } as const;
const changed = { ...token, reason: 'changed' } as const;
const own = { status: 503, reason: 'own' } as const;
/** A workflow run, whose attempts nothing limits. */
const run = { attemptMs: undefined, receiver: 'answers' } as const;

const outcome = (step: CanaryStep): string => {
  if (step.kind === 'verdict') return step.result.verdict;
  return step.kind === 'ask' ? `ask ${step.question}` : `wait ${step.untilMs}`;
};
const at = (nowMs: number, facts: Partial<CanaryFacts>): string => outcome(judgeCanary({ ...base, ...facts }, nowMs));
const atEnd = (facts: Partial<CanaryFacts>): string => at(DONE, facts);

describe('the verdict', () => {
  test.each<[title: string, facts: Partial<CanaryFacts>, verdict: string]>([
    ['delivered and reported', { ...reported, callback }, 'ok'],
    ['a workflow run, which has no callback', { ...reported, route: 'workflow' }, 'ok'],
    ['publish: 401', rejected('unauthorized', 401), 'account'],
    ['publish: 403', rejected('forbidden', 403), 'account'],
    ['publish: 429', rejected('rate_limited', 429), 'account'],
    ['publish: 413', rejected('client_error', 413), 'account'],
    ['publish: own budget', rejected('budget'), 'account'],
    ['publish: 500, before other hosts are asked', rejected('server_error', 500), 'ask elsewhere'],
    ['publish: 500, others answer', { ...rejected('server_error', 500), elsewhere: true }, 'service'],
    ['publish: timeout, others answer', { ...rejected('timeout'), elsewhere: true }, 'service'],
    ['publish: no connection, no other host answers', { ...rejected('connection'), elsewhere: false }, 'unknown'],
    ['publish: never answered', { ...rejected('dns'), elsewhere: true, isKnownService: false }, 'unknown'],
    ['publish: 400', { ...rejected('client_error', 400), elsewhere: true }, 'unknown'],
    ['publish: redirect', { ...rejected('redirect', 302), elsewhere: true }, 'unknown'],
    ['not in the log', { log: log('none') }, 'service'],
    ['no attempt', { log: log('waiting') }, 'service'],
    ['an attempt without an end', { log: log('attempting') }, 'ask receiver'],
    ['an attempt without an end, receiver answers', { log: log('attempting'), ...answers }, 'service'],
    ['an attempt without an end, receiver does not', { log: log('attempting'), ...fails }, 'receiver'],
    ['waiting, by key', { route: 'flowControlKey', log: log('waiting') }, 'ask flow'],
    ['waiting, key full', { route: 'flowControlKey', log: log('waiting'), flow: true }, 'throttled'],
    ['waiting, key free', { route: 'flowControlKey', log: log('waiting'), flow: false }, 'service'],
    ['waiting, key unread', { route: 'flowControlKey', log: log('waiting'), flow: 'unknown' }, 'unknown'],
    ['waiting in a queue', { route: 'queue', log: log('waiting') }, 'unknown'],
    ['dns', { log: failure('dns') }, 'ask receiver'],
    ['dns, the receiver answers', { log: failure('dns'), ...answers }, 'network'],
    ['connection, the receiver answers', { log: failure('connection'), ...answers }, 'network'],
    ['tls, the receiver answers', { log: failure('tls'), ...answers }, 'network'],
    ['timeout, the receiver answers', { log: failure('timeout'), ...answers }, 'network'],
    ['a slow store of the receiver', { log: failure('timeout'), ...answers, isStoring: true }, 'receiver'],
    ['connection, the receiver fails', { log: failure('connection'), ...fails }, 'receiver'],
    ['connection, another server answers', { log: failure('connection'), receiver: 'other' }, 'receiver'],
    ['a failure without a text', { log: log('failed') }, 'unknown'],
    ['our own status', { log: failure('http', 503), rejections: [own] }, 'receiver'],
    ['a status that we did not send', { log: failure('http', 503), ...answers }, 'unknown'],
    ['a status of a proxy that is down', { log: failure('http', 502), receiver: 'other' }, 'receiver'],
    ['an unknown code', { log: failure('http', 404), rejections: [token], ...answers }, 'unknown'],
    ['an invalid signature', { log: failure('http', 404), rejections: [signature], ...answers }, 'unknown'],
    ['a delivery that did not arrive', { log: log('delivered'), ...answers }, 'unknown'],
    ['a delivery that did not arrive, without a response', { log: log('delivered'), ...proving }, 'service'],
    ['a delivery that did not arrive, with a response', { log: responding(log('delivered')), ...proving }, 'receiver'],
    ['a status of a proxy', { log: responding(failure('http', 503)), ...answers }, 'receiver'],
    ['a status that nobody sent', { log: failure('http', 503), ...proving }, 'service'],
    ['a message that a proxy changed', { log: failure('http', 404), rejections: [changed] }, 'receiver'],
    ['a delivery to another server', { log: log('delivered'), receiver: 'other' }, 'receiver'],
    ['a delivery, and no receiver', { log: log('delivered'), ...fails }, 'unknown'],
    ['a slow receiver', seen(failure('timeout'), { arrivals: [{ ...arrived[0]!, answerMs: 30_000 }] }), 'receiver'],
    ['arrived, not in the log', seen(log('none'), { callback }), 'service_reporting'],
    ['arrived, still attempting', seen(log('attempting'), { callback }), 'service_reporting'],
    ['arrived, still attempting, no callback', seen(log('attempting')), 'ask receiver'],
    ['arrived, still attempting, receiver slow', seen(log('attempting'), fails), 'receiver'],
    ['arrived, still attempting, receiver answers', seen(log('attempting'), answers), 'service_reporting'],
    ['arrived, log answers 500', seen(unread('server_error')), 'service_reporting'],
    ['arrived, log answers 429', seen(unread('rate_limited')), 'account'],
    ['arrived, log not reached', seen(unread('timeout')), 'unknown'],
    ['arrived, logged as HTTP 500', seen(failure('http', 500)), 'unknown'],
    ['arrived, logged as HTTP 500 without a response', seen(failure('http', 500), proving), 'service_reporting'],
    ['arrived, logged with the HTTP 504 of a proxy', seen(responding(failure('http', 504)), proving), 'receiver'],
    ['arrived, logged as HTTP 502', seen(failure('http', 502)), 'unknown'],
    ['arrived, logged as a timeout', seen(failure('timeout')), 'ask receiver'],
    ['arrived, logged as a timeout, receiver answers', seen(failure('timeout'), answers), 'unknown'],
    ['arrived, logged as a timeout, receiver slow', seen(failure('timeout'), fails), 'receiver'],
    ['no callback', reported, 'ask callbackLog'],
    ['no callback in the log', { ...reported, callbackLog: log('none') }, 'service_reporting'],
    ['a callback that could not connect', { ...reported, callbackLog: failure('connection'), ...answers }, 'network'],
    [
      'a callback that only the log has',
      { ...reported, callbackLog: log('delivered'), ...proving },
      'service_reporting',
    ],
    ['a callback about a failure', called(500), 'service_reporting'],
    ['altered', { arrivals: [{ afterMs: 200, altered: true }] }, 'service'],
    ['twice', twice({ isRepeated: true }), 'service'],
    ['twice, before the first response', twice({}), 'unknown'],
    ['late', { ...reported, arrivals: late, ...answers, callback }, 'service'],
    ['late, and the receiver is slow', { ...reported, arrivals: late, ...fails }, 'unknown'],
    ['late, before the receiver is asked', { arrivals: late }, 'ask receiver'],
    ['late in a queue', { route: 'queue', arrivals: late, ...answers }, 'unknown'],
    ['late by key', { route: 'flowControlKey', arrivals: late, ...answers }, 'unknown'],
    ['at its timeout', { ...reported, arrivals: [{ afterMs: T, altered: false }], callback }, 'ok'],
    ['arrived, called with 200', called(200), 'ok'],
    ['arrived, publish malformed', { ...reported, ...rejected('malformed'), callback }, 'unknown'],
    ['arrived, still attempting a workflow run', seen(log('attempting'), run), 'unknown'],
    [
      'a callback log that was read early',
      { ...reported, callbackLog: { afterMs: T, state: 'none' } },
      'ask callbackLog',
    ],
    ['a callback log that cannot be read', { ...reported, callbackLog: unread('timeout') }, 'unknown'],
    ['a callback that was canceled', { ...reported, callbackLog: log('canceled') }, 'unknown'],
    ['canceled', { log: log('canceled') }, 'unknown'],
    ['no response to the publish, no attempt', { ...rejected('aborted'), log: log('waiting') }, 'unknown'],
    ['an attempt without an end, another server', { log: log('attempting'), receiver: 'other' }, 'receiver'],
    ['an attempt of a workflow run without an end', { ...run, log: log('attempting') }, 'unknown'],
    ['a spent budget', { log: told('quota exhausted: the budget is spent') }, 'account'],
    ['a failure with an unknown text', { log: told('the moon is full'), ...answers }, 'unknown'],
    ['a failure after a rejection', { log: failure('timeout'), rejections: [token], ...answers }, 'unknown'],
    ['a status, before the receiver is asked', { log: failure('http', 503) }, 'ask receiver'],
    ['a delivery, before the receiver is asked', { log: log('delivered') }, 'ask receiver'],
    ['a delivery after a rejection', { log: log('delivered'), rejections: [own], ...answers }, 'receiver'],
    ['a delivery, and no receiver, but responses', { log: log('delivered'), ...proving, ...fails }, 'unknown'],
    ['log not reached', { log: unread('connection') }, 'unknown'],
    ['a restart', { log: failure('connection'), ...answers, isInterrupted: true }, 'unknown'],
    ['a restart, and all is there', { ...reported, callback, isInterrupted: true }, 'ok'],
  ])('%s', (_title, facts, verdict) => {
    expect(atEnd(facts)).toBe(verdict);
  });

  test.each<[facts: Partial<CanaryFacts>, reason: string]>([
    [{ log: log('none') }, 'its log shows no entry of it after 120 s'],
    [{ log: log('waiting') }, 'its log shows no attempt after 120 s'],
    [{ ...reported, callback: { afterMs: 9, status: 0 } }, 'its callback reports no status'],
    [{ ...reported, callback: { afterMs: 9, status: 500 } }, 'its callback reports HTTP 500'],
    [{ log: failure('http', 503), rejections: [own] }, 'rejected the message with HTTP 503'],
    [{ log: failure('dns'), receiver: 'other' }, 'another server answers at hooks.publicUrl'],
    [{ log: failure('dns'), rejections: [token] }, 'a request without a valid code of this canary'],
    [{ log: failure('dns'), rejections: [signature] }, 'a signature that is not valid'],
    [rejected('invalid_request', undefined, ' no\n group. '), 'the publish request failed: no group'],
    [{ log: told('') }, 'says too little: no text'],
  ])('names its reason: %j, %s', (facts, reason) => {
    const step = judgeCanary({ ...base, ...facts }, DONE);
    expect(step.kind === 'verdict' && step.result.reason).toContain(reason);
  });

  test('waits until the timeout, then reads the log, and gives its silence as much time again', () => {
    expect(at(100, {})).toBe(`wait ${T}`);
    expect(at(100, { arrivals: arrived })).toBe(`wait ${T}`);
    expect(at(T, {})).toBe('ask log');
    expect(at(T, { log: { afterMs: 1_000, state: 'waiting' } })).toBe('ask log');
    expect(at(T, { log: { afterMs: T, state: 'waiting' } })).toBe('service');
    expect(at(T, { log: { afterMs: T, state: 'none' } })).toBe(`wait ${DONE}`);
    expect(at(DONE, { log: { afterMs: T, state: 'none' } })).toBe('ask log');
    expect(at(T, { arrivals: arrived, callback, log: { afterMs: T, state: 'none' } })).toBe(`wait ${DONE}`);
  });
});

const anyLog: fc.Arbitrary<LogReading> = fc.oneof(
  fc.record({
    afterMs: fc.nat({ max: 3 * T }),
    state: fc.constantFrom('none', 'waiting', 'attempting', 'failed', 'delivered', 'canceled'),
    failure: fc.record({
      reason: fc.constantFrom(...FAILURE_REASONS),
      status: fc.option(fc.constantFrom(404, 500, 502, 503), { nil: undefined }),
      error: fc.string(),
    }),
  }) as fc.Arbitrary<LogReading>,
  fc.record({
    afterMs: fc.nat({ max: 3 * T }),
    failed: fc.record({ code: fc.constantFrom(...SERVICE_ERROR_CODES), message: fc.string() }),
  }),
);
const optional = <V>(value: fc.Arbitrary<V>) => fc.option(value, { nil: undefined });
const anyFacts = fc
  .record({
    route: fc.constantFrom('url', 'flowControlKey', 'urlGroup', 'queue', 'workflow'),
    arrivals: fc.array(
      fc.record({
        afterMs: fc.nat({ max: 2 * T }),
        altered: fc.boolean(),
        answerMs: optional(fc.nat({ max: T })),
        isRepeated: optional(fc.boolean()),
      }),
      { maxLength: 3 },
    ),
    publish: optional(
      fc.oneof(
        fc.constant({ afterMs: 50, messageId: 'm' }),
        fc.record({
          afterMs: fc.nat({ max: T }),
          isRejected: fc.boolean(),
          failure: fc.record({ code: fc.constantFrom(...SERVICE_ERROR_CODES), message: fc.string() }),
        }),
      ),
    ),
    callback: optional(fc.record({ afterMs: fc.nat({ max: T }), status: optional(fc.constantFrom(0, 200, 500)) })),
    isInterrupted: fc.boolean(),
    log: optional(anyLog),
    callbackLog: optional(anyLog),
    receiver: optional(fc.constantFrom('answers', 'other', 'fails')),
    elsewhere: optional(fc.boolean()),
    flow: optional(fc.constantFrom(true, false, 'unknown')),
    rejections: fc.array(
      fc.record({
        status: fc.constantFrom(404, 500, 503),
        reason: fc.constantFrom('token', 'signature', 'own'),
      }),
      { maxLength: 2 },
    ),
    isKnownService: fc.boolean(),
  })
  .map((facts) => ({ ...base, ...facts }) as CanaryFacts);
const anyTime = fc.nat({ max: 4 * T });

/** Returns the verdict after each question has an answer, and time has passed. */
function settled(facts: CanaryFacts, nowMs: number): { readonly step: CanaryStep; readonly facts: CanaryFacts } {
  let known = facts;
  let now = nowMs;
  for (let steps = 0; steps < 20; steps += 1) {
    const step = judgeCanary(known, now);
    if (step.kind === 'verdict') return { step, facts: known };
    if (step.kind === 'wait') {
      expect(step.untilMs).toBeGreaterThan(now);
      now = step.untilMs;
    } else if (step.question === 'log' || step.question === 'callbackLog') {
      known = { ...known, [step.question]: { ...(facts[step.question] ?? { state: 'none' }), afterMs: now } };
    } else {
      // A question with an answer is not asked again.
      expect(known[step.question]).toBeUndefined();
      known = {
        ...known,
        ...{ receiver: { receiver: 'fails' }, elsewhere: { elsewhere: false }, flow: { flow: 'unknown' } }[
          step.question
        ],
      } as CanaryFacts;
    }
  }
  throw new Error('no verdict after 20 steps');
}

describe('of any facts', () => {
  test('there is a verdict after finitely many questions', () => {
    fc.assert(
      fc.property(anyFacts, anyTime, (facts, nowMs) => {
        const { step } = settled(facts, nowMs);
        expect(step.kind === 'verdict' && CANARY_VERDICTS.includes(step.result.verdict)).toBe(true);
      }),
      { numRuns: 3_000 },
    );
  });

  test('each verdict has its proof', () => {
    fc.assert(
      fc.property(anyFacts, anyTime, (facts, nowMs) => {
        const { step, facts: known } = settled(facts, nowMs);
        if (step.kind !== 'verdict') return;
        const { verdict, reason } = step.result;
        expect(reason).toMatch(/^\S.*[^.]$/);
        const [first, ...others] = known.arrivals;
        const state = known.log !== undefined && 'state' in known.log ? known.log.state : undefined;
        if (verdict === 'ok') {
          expect(first).toMatchObject({ altered: false });
          expect(first!.afterMs).toBeLessThanOrEqual(T);
          expect([others.length, state]).toEqual([0, 'delivered']);
        }
        if (known.isInterrupted === true) expect(['ok', 'unknown']).toContain(verdict);
        if (verdict === 'network') expect(known.receiver).toBe('answers');
        if (verdict === 'throttled')
          expect([known.flow, first, known.route]).toEqual([true, undefined, 'flowControlKey']);
        if (verdict === 'service_reporting') expect(first).toMatchObject({ altered: false });
        const hasFailed = known.publish !== undefined && 'failure' in known.publish;
        if (verdict === 'service' && hasFailed && first?.altered !== true && known.publish.failure.code !== 'aborted') {
          expect([known.elsewhere, known.isKnownService]).toEqual([true, true]);
        }
      }),
      { numRuns: 5_000 },
    );
  });
});
