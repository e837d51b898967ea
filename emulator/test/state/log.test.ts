import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MessageLog, type LogEntry } from '#emulator/state/log.ts';
import type { Message } from '#emulator/state/message.ts';

const message = { id: 'm', url: 'http://a', delivery: { labels: [] as readonly string[] } } as Message;

function log(limits: { retentionMs?: () => number; maxEntries?: number; onDropped?: (entry: LogEntry) => void } = {}) {
  return new MessageLog({ retentionMs: () => 1e12, maxEntries: 1e9, onDropped: () => undefined, ...limits });
}

function append(to: MessageLog, time: number): void {
  to.append({ time, state: 'ACTIVE', message, nextDeliveryTime: undefined, outcome: undefined });
}

const everything = { from: -Infinity, to: Infinity };

describe('message log', () => {
  test.each(['newest', 'oldest'] as const)(
    'pages return each entry once while entries are added, %s first',
    (order) => {
      const steps = fc.array(
        fc.record({
          count: fc.integer({ min: 1, max: 700 }),
          added: fc.nat(900),
          shift: fc.integer({ min: -50, max: 50 }),
        }),
        { minLength: 1, maxLength: 12 },
      );
      fc.assert(
        fc.property(fc.nat(2_000), steps, (initial, script) => {
          const entries = log();
          let time = 1_000;
          for (let index = 0; index < initial; index++) append(entries, time++);
          const seen: number[] = [];
          let after: number | undefined;
          for (let turn = 0; turn === 0 || after !== undefined; turn++) {
            const { count, added, shift } = script[turn % script.length]!;
            const page = entries.page({ ...everything, order, after }, {}, count);
            seen.push(...page.rows.map((entry) => entry.sequence));
            after = page.last?.sequence;
            // A wall clock may move back: positions do not depend on times.
            time += shift;
            if (turn < script.length) for (let index = 0; index < added; index++) append(entries, time++);
          }
          expect(new Set(seen).size).toBe(seen.length);
          const sorted = seen.toSorted((a, b) => a - b);
          expect(sorted.slice(0, initial)).toEqual(Array.from({ length: initial }, (_, index) => index));
          expect(seen).toEqual(order === 'oldest' ? sorted : sorted.toReversed());
        }),
        { numRuns: 40 },
      );
    },
  );

  test('a window contains both its borders', () => {
    const entries = log();
    for (let time = 0; time < 2_000; time++) append(entries, time);
    const page = entries.page({ from: 500, to: 1_500, order: 'oldest' }, {}, 5_000);
    expect(page.rows.map((entry) => entry.time)).toEqual(Array.from({ length: 1_001 }, (_, index) => 500 + index));
    expect(page.last).toBeUndefined();
  });

  test('drops expired entries, and the oldest when there are too many', () => {
    const dropped: number[] = [];
    const entries = log({
      retentionMs: () => 1_000,
      maxEntries: 3_000,
      onDropped: (entry) => void dropped.push(entry.time),
    });
    for (let time = 0; time < 2_000; time++) append(entries, time);
    expect(dropped.length).toBeGreaterThan(500);
    expect(dropped.every((time) => time < 1_000)).toBe(true);
    for (let count = 0; count < 10_000; count++) append(entries, 2_000);
    expect(entries.size).toBeLessThanOrEqual(3_000);
    expect(dropped.length + entries.size).toBe(12_000);
    append(entries, 1_000_000);
    expect(entries.size).toBe(1);
  });
});
