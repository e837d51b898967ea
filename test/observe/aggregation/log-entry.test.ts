import { describe, expect, test } from 'vitest';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import { assignStates, STATE_PASSES, type StatePass } from '#observe/aggregation/log-entry.ts';

const T0 = Date.UTC(2026, 10, 20, 10);

function entry(time: number, more: Partial<LogEntry> = {}): LogEntry {
  return { time: T0 + time, messageId: 'msg-1', labels: [], url: 'https://api.example.com', ...more };
}

function passes(found: Partial<Record<StatePass, LogEntry[]>>): Map<StatePass, LogEntry[]> {
  return new Map(STATE_PASSES.map((state) => [state, found[state] ?? []]));
}

describe('states of entries without a state', () => {
  test('are those of the filters that returned them', () => {
    const created = entry(1);
    const delivered = entry(2, { responseStatus: 200 });
    const stated = assignStates([created, delivered], passes({ CREATED: [created], DELIVERED: [delivered] }));
    expect(stated.map(({ time, state }) => [time - T0, state])).toEqual([
      [1, 'CREATED'],
      [2, 'DELIVERED'],
    ]);
  });

  test('an entry that no filter returned failed permanently', () => {
    const error = entry(2, { responseStatus: 500 });
    const failed = entry(3, { responseStatus: 500 });
    const stated = assignStates([error, failed], passes({ ERROR: [error] }));
    expect(stated.map(({ time, state }) => [time - T0, state])).toEqual([
      [2, 'ERROR'],
      [3, 'FAILED'],
    ]);
  });

  test('an entry that was added between the readings has its state and is not a failure', () => {
    expect(assignStates([], passes({ ACTIVE: [entry(1)] })).map(({ state }) => state)).toEqual(['ACTIVE']);
  });

  test('an entry listed twice is not a failure', () => {
    const stated = assignStates([entry(1), entry(1)], passes({ CREATED: [entry(1)] }));
    expect(stated.map(({ state }) => state)).toEqual(['CREATED']);
  });

  test('of one millisecond are kept apart', () => {
    const stated = assignStates([entry(1), entry(1)], passes({ CREATED: [entry(1)], ACTIVE: [entry(1)] }));
    expect(stated.map(({ state }) => state)).toEqual(['CREATED', 'ACTIVE']);
  });

  test('filters that do not filter are detected', () => {
    const all = [entry(1), entry(2)];
    const ignored = new Map(STATE_PASSES.map((state) => [state, all]));
    expect(() => assignStates(all, ignored)).toThrow('ignores the state filter');
  });
});
