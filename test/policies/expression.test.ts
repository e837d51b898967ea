import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { entryFacts } from '../../src/policies/entry-facts.ts';
import { WORKFLOW_ENTRY } from '../../src/policies/environments.ts';
import { compileExpression } from '../../src/policies/expression.ts';
import type { WorkflowDlqEntry } from '../../src/domain/workflow-dlq.ts';

const NOW = Date.UTC(2025, 10, 20, 12);

function entry(over: Partial<WorkflowDlqEntry> = {}): WorkflowDlqEntry {
  return {
    dlqId: 'dlq-1',
    workflowRunId: 'wfr-1',
    workflowUrl: 'https://app.example.com/invoice',
    createdAt: NOW - 3_600_000,
    labels: ['billing', 'opsd:here:l1:1'],
    responseStatus: 503,
    ...over,
  };
}

function compileWhere(source: string) {
  return compileExpression(source, WORKFLOW_ENTRY);
}

function verdict(source: string, over: Partial<WorkflowDlqEntry> = {}): string {
  const where = compileWhere(source);
  if (!where.ok) throw new Error(`${where.offset}: ${where.message}`);
  return where.evaluate(entryFacts(entry(over), { attempts: 2 }, NOW));
}

describe('an expression that compiles', () => {
  test.each([
    ['entry.cause == "transient"', 'match'],
    ['entry.cause == "permanent"', 'no'],
    ['entry.reason == "http" && entry.cause != "quota"', 'match'],
    ['has(entry.status) && entry.status >= 500 && entry.status < 504', 'match'],
    ['!has(entry.status) || entry.status == 503', 'match'],
    ['has(entry.status) ? entry.status == 500 : entry.reason == "no_response"', 'no'],
    ['!(!has(entry.status) || entry.labels.size() == 0) && entry.status == 503', 'match'],
    ['entry.labels.exists(l, l.startsWith("bill"))', 'match'],
    ['!entry.labels.exists(l, l.startsWith("opsd:"))', 'match'],
    ['"billing" in entry.labels', 'match'],
    ['entry.age > duration("59m") && entry.age <= duration("1h")', 'match'],
    ['entry.failedAt == timestamp("2025-11-20T11:00:00Z")', 'match'],
    ['entry.failedAt.getHours() == 11', 'match'],
    ['entry.attempts == 2', 'match'],
    ['entry.labels.all(a, entry.labels.exists(b, a == b))', 'match'],
  ])('%s: %s', (source, expected) => {
    expect(verdict(source)).toBe(expected);
  });

  test('fails on an entry rather than choosing it', () => {
    expect(verdict('entry.attempts / size(entry.labels.filter(l, l == "x")) == 1')).toBe('error');
    expect(verdict('timestamp(entry.workflowUrl) < entry.failedAt')).toBe('error');
    const many = Array.from({ length: 257 }, (_, index) => `l${index}`);
    expect(verdict('!("x" in entry.labels)', { labels: many })).toBe('error');
  });

  test('sees text cut, whatever an entry brings', () => {
    expect(
      verdict('has(entry.responseText) && entry.responseText.size() == 65536', { responseText: 'x'.repeat(1e6) }),
    ).toBe('match');
  });

  test('sees a missing answer as transient', () => {
    const { responseStatus: _, ...silent } = entry();
    const where = compileWhere('entry.reason == "no_response" && entry.cause == "transient"');
    expect(where.ok && where.evaluate(entryFacts(silent, { attempts: 0 }, NOW))).toBe('match');
  });
});

describe('an expression that is refused', () => {
  test.each([
    ['a typo in a field', 'entry.cause == "x" && entry.staus == 3', 28, /no field staus; did you mean status/],
    ['an unknown field', 'entry.zebra == "x"', 6, /no field zebra; it has cause/],
    ['an unknown field in has()', 'has(entry.zebra)', 10, /no field zebra/],
    ['an unknown variable', 'entry.cause == what', 15, /unknown variable: what/i],
    ['types that do not meet', 'entry.cause == 3', 0, /string == int/],
    ['a time compared with a number', 'entry.failedAt > 1700000000', 0, /Timestamp > int/],
    ['a result that is not bool', 'entry.cause', 0, /must be bool, not string/],
    ['broken syntax', 'entry.cause ==', 14, /unexpected token/i],
    ['an empty source', '  ', 2, /./],
    ['a backtracking pattern', 'entry.cause.matches("(a+)+$")', 12, /matches\(\) can take hours/],
    ['a way around the types', 'dyn(entry).cause == 1', 0, /dyn\(\)/],
    ['a field by a computed name', 'entry[entry.cause] == "x"', 0, /entry\.name/],
    ['a macro that is no CEL', 'cel.bind(x, entry.cause, x == "a")', 4, /cel\.bind\(\)/],
    ['a function outside of the list', 'entry.workflowUrl.split("/").size() == 3', 18, /split\(\) is not part/],
    ['an optional field without has()', 'entry.attempts > 1 && entry.status == 503', 28, /may be missing: write has/],
    ['has() on the wrong side', '!has(entry.status) && entry.status == 503', 28, /may be missing/],
    ['has() in another branch', 'has(entry.status) ? true : entry.status == 503', 33, /may be missing/],
    ['nothing of entry', '1 < 2', 0, /reads nothing of `entry`/],
    ['an element named entry', '[1].exists(entry, entry == 1)', 11, /the name `entry` is taken/],
    [
      'three comprehensions deep',
      'entry.labels.exists(a, entry.labels.exists(b, entry.labels.exists(c, a == c)))',
      59,
      /at most 2 deep/,
    ],
    ['a tree too large', `entry.attempts in [${'1, '.repeat(400)}1]`, -1, /./],
  ])('%s', (_what, source, offset, message) => {
    const where = compileWhere(source);
    expect(where).toMatchObject({ ok: false, message: expect.stringMatching(message) as string });
    if (offset >= 0) expect(where).toMatchObject({ offset });
  });
});

test('whatever is written compiles or is refused at a place of it', () => {
  const word = fc.constantFrom(
    ...'entry . cause == && || ! ( ) [ ] "a" 1 has( .exists(l, l ? : dyn( .matches( in null -'.split(' '),
    '.labels',
    '.status',
    'entry.status',
    'entry.labels',
    '\n',
    ' ',
  );
  const source = fc.oneof(
    fc.string(),
    fc.array(word, { maxLength: 20 }).map((words) => words.join('')),
  );
  fc.assert(
    fc.property(source, (text) => {
      const where = compileWhere(text);
      if (where.ok) {
        expect(['match', 'no', 'error']).toContain(where.evaluate(entryFacts(entry(), { attempts: 0 }, NOW)));
      } else {
        expect(where.message).not.toBe('');
        expect(where.offset).toBeGreaterThanOrEqual(0);
        expect(where.offset).toBeLessThanOrEqual(text.length);
      }
    }),
    { numRuns: 2_000 },
  );
});
