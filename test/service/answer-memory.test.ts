/** Concurrent responses: their total size is bounded, at the expense of the largest. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AnswerMemory } from '#service/answer-memory.ts';

test('the largest response in progress is aborted, whichever adds the last byte', () => {
  const memory = new AnswerMemory(100);
  const givenUp: string[] = [];
  const begin = (name: string) => {
    const reading = memory.begin();
    reading.onTooMuch = (reason) => void givenUp.push(`${name}: ${reason}`);
    return reading;
  };
  const [large, small] = [begin('large'), begin('small')];
  large.add(90);
  small.add(10);
  expect(givenUp).toEqual([]);
  small.add(1);
  expect(givenUp).toEqual(['large: responses use more than 100 bytes in total, and this is the largest of them']);
  small.add(89);
  large.add(50);
  expect(givenUp).toHaveLength(1);
});

test('a single response has only its own limit', () => {
  const memory = new AnswerMemory(100);
  const reading = memory.begin();
  reading.onTooMuch = () => expect.unreachable();
  reading.add(1_000);
});

test('responses in progress never exceed the total limit, except for a single one', () => {
  const step = fc.record({ at: fc.nat(9), bytes: fc.integer({ min: 1, max: 60 }), ends: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const memory = new AnswerMemory(100);
      const live = new Map<number, { bytes: number; reading: ReturnType<AnswerMemory['begin']> }>();
      for (const { at, bytes, ends } of steps) {
        if (!live.has(at)) {
          const reading = memory.begin();
          reading.onTooMuch = () => void live.delete(at);
          live.set(at, { bytes: 0, reading });
        }
        const own = live.get(at)!;
        if (ends) {
          own.reading[Symbol.dispose]();
          live.delete(at);
          continue;
        }
        own.bytes += bytes;
        own.reading.add(bytes);
        const total = live.values().reduce((sum, one) => sum + one.bytes, 0);
        expect(live.size > 1 ? total : 0).toBeLessThanOrEqual(100);
      }
    }),
  );
});
