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

describe('message log', () => {
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
