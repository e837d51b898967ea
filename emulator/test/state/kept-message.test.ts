/** A message is unchanged, also on the shelf. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Compact } from '#emulator/state/compact.ts';
import { KeptMessage } from '#emulator/state/kept-message.ts';
import { METHODS, type Delivery, type Message, type State } from '#emulator/state/message.ts';
import { compileRetryDelay } from '#emulator/state/retry-delay.ts';

const maybe = <T>(name: string, value: fc.Arbitrary<T>) =>
  fc.option(value, { nil: undefined }).map((given) => (given === undefined ? {} : { [name]: given }));
const retryDelay = fc
  .constantFrom('1000', 'pow(2, retried) * 1000')
  .map((source) => ({ source, evaluate: compileRetryDelay(source) }));
const pairs = fc.array(fc.tuple(fc.string(), fc.string({ unit: 'binary' })), { maxLength: 4 });
const callback = fc
  .tuple(
    fc.record({ url: fc.webUrl(), headers: pairs, method: fc.constantFrom(...METHODS), delayMs: fc.nat() }),
    maybe('retries', fc.nat(5)),
    maybe('timeoutMs', fc.nat()),
    maybe('retryDelay', retryDelay),
  )
  .map((parts) => Object.assign({}, ...parts) as object);
const anyDelivery = fc
  .tuple(
    fc.record({
      method: fc.constantFrom(...METHODS),
      body: fc.oneof(
        fc.uint8Array({ maxLength: 200 }),
        fc.nat(40_000).map((size) => new Uint8Array(size).fill(size)),
      ),
      headers: pairs,
      timeoutMs: fc.nat(),
      maxRetries: fc.nat(10),
      labels: fc.array(fc.string({ unit: 'binary' }), { maxLength: 3 }),
      callerIp: fc.ipV4(),
    }),
    maybe('flowControl', fc.record({ key: fc.string(), parallelism: fc.nat() })),
    maybe('callback', callback),
    maybe('failureCallback', callback),
    maybe('retryDelay', retryDelay),
    maybe(
      'redaction',
      fc.record({
        body: fc.boolean(),
        headers: fc.oneof(
          fc.constant(true as const),
          fc.array(fc.string()).map((names) => new Set(names)),
        ),
      }),
    ),
  )
  .map((parts) => Object.assign({}, ...parts) as Delivery);

function messageOf(delivery: Delivery, state: State): Message {
  const moments = { createdAt: 1, notBefore: 1 };
  return new KeptMessage({
    id: 'msg_1',
    accountId: 'acc-1',
    url: 'http://host/',
    ...moments,
    delivery,
    state,
    attempts: 1,
    cancelRequested: false,
  });
}

/** Functions are compared by their source. */
function plain({ body, ...delivery }: Delivery): unknown {
  const told = (_: string, value: unknown): unknown => (value instanceof Set ? [...value] : value);
  return [JSON.parse(JSON.stringify(delivery, told)), Buffer.from(body).toString('hex')];
}

describe('an ended message', () => {
  test('is unchanged on the shelf, whatever else is there', () => {
    const ended = fc.constantFrom<State>('DELIVERED', 'FAILED', 'CANCELLED');
    fc.assert(
      fc.property(fc.array(fc.tuple(anyDelivery, ended), { maxLength: 30 }), (given) => {
        const compact = new Compact();
        const messages = given.map(([delivery, state]) => messageOf(delivery, state));
        for (const message of messages) compact.shelve(message);
        for (const message of messages) compact.shelve(message);
        messages.forEach((message, index) => expect(plain(message.delivery)).toEqual(plain(given[index]![0])));
        for (const { delivery } of messages)
          expect(delivery.retryDelay?.evaluate(3) ?? 8_000).toBeOneOf([1_000, 8_000]);
      }),
      { numRuns: 60 },
    );
  });

  test('leaves the heap, but one that may still be delivered does not', () => {
    const compact = new Compact();
    const [delivery] = fc.sample(anyDelivery, 1);
    for (const state of ['CREATED', 'ACTIVE', 'RETRY', 'ERROR', 'CANCEL_REQUESTED'] as const) {
      const message = messageOf(delivery!, state);
      compact.shelve(message);
      expect(message.delivery).toBe(delivery);
      message.state = 'DELIVERED';
      compact.shelve(message);
      expect(message.delivery).not.toBe(delivery);
    }
  });
});

test('the body of a waiting message keeps nothing else alive', () => {
  const compact = new Compact();
  const body = Buffer.alloc(1_000, 'x');
  expect(compact.body(body).buffer.byteLength).toBe(1_000);
  expect(compact.body(Buffer.from('small'))).toBe(compact.body(Buffer.from('small')));
});

test('a dead letter, and the message that reports its failure, keep no slab alive that the log has dropped', () => {
  const compact = new Compact();
  const kept: Message[] = [];
  const [delivery] = fc.sample(anyDelivery, { numRuns: 1, seed: 1 });
  for (let n = 0; n < 4_000; n += 1) {
    const isDead = n % 100 === 0;
    const isNotice = n % 100 === 1;
    const message = messageOf({ ...delivery!, body: Buffer.alloc(1_000, n) }, isDead ? 'FAILED' : 'DELIVERED');
    message.lastOutcome = { delivered: !isDead, headers: {}, body: compact.bytes(Buffer.alloc(300, `${n} `)) };
    if (isNotice) compact.keepWithDead(message);
    compact.shelve(message);
    if (isDead || isNotice) kept.push(message);
  }
  const slabs = new Set(kept.flatMap(({ delivery, lastOutcome }) => [delivery.body.buffer, lastOutcome!.body.buffer]));
  const bytes = [...slabs].reduce((sum, { byteLength }) => sum + byteLength, 0);
  expect(bytes).toBeLessThan(2 * 262_144);
  kept.forEach(({ lastOutcome }, at) => {
    const n = Math.floor(at / 2) * 100 + (at % 2);
    expect(Buffer.from(lastOutcome!.body).toString()).toBe(Buffer.alloc(300, `${n} `).toString());
  });
});
