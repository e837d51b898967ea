import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ACCOUNT_BUDGET, DEAD_LETTER, PRECONDITION, WORKFLOW_ENTRY } from '#automate/policies/environments.ts';
import type { BudgetFacts, KnownBudget } from '#foundation/domain/known-budget.ts';
import type { PreconditionFacts } from '#automate/policies/facts.ts';
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import { parseDuration } from '#foundation/domain/duration.ts';
import type { Trigger } from '#foundation/domain/plan.ts';
import { compileExpression } from '#automate/policies/expression.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';

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
  return where.evaluate({ entry: entry(over), attempts: 2, now: NOW });
}

describe('constant parts are evaluated at load', () => {
  const window = (text: string) => `successRatio("a.example", ${text}) > 0.9`;

  test.each([
    ['entry.age > duration("90")', '"90" is not a duration; write a number with a unit, such as duration("90s")', 12],
    ['entry.failedAt > timestamp("2026-03-02")', 'write timestamp("2026-03-02T00:00:00Z")', 17],
    ['entry.failedAt > timestamp("2026-02-31T00:00:00Z")', 'this day does not exist', 17],
    ['entry.failedAt.getHours("Europe/Berln") == 1', 'unknown time zone', 24],
    ['entry.attempts % 0 == 1', 'modulo by zero', 17],
    ['entry.attempts / (1 - 1) == 1', 'division by zero', 18],
    ['entry.attempts > int("x")', 'int() type error', 17],
    ['entry.reason == "abc".substring(5)', 'out of range', 16],
    ['entry.attempts > 1 and entry.age > duration("1h")', 'write &&', 19],
    ['entry.attempts > 1 or entry.age > duration("1h")', 'write ||', 19],
    ['not has(entry.status)', 'write ! instead of not', 0],
  ])('%s is refused', (source, message, offset) => {
    const compiled = compileWhere(source);
    expect(compiled).toMatchObject({ ok: false, message: expect.stringContaining(message) });
    expect(compiled).toHaveProperty('offset', offset);
  });

  test.each([
    [window('duration("7h")'), 'the window of successRatio() must be at most 6h'],
    [window('duration("0s")'), 'the window of successRatio() must be longer than 0'],
    [window('duration("-5m")'), 'must be longer than 0'],
    ['arrivals("a", duration("0s")) > 1', 'the window of arrivals() must be longer than 0'],
  ])('%s is refused', (source, message) => {
    expect(compileExpression(source, PRECONDITION)).toMatchObject({
      ok: false,
      message: expect.stringContaining(message),
    });
  });

  test('a duration may have days, as everywhere else', () => {
    expect(verdict('entry.age < duration("1d") && entry.age > duration("1d") - duration("23h30m")')).toBe('match');
    expect(verdict('duration("1d") == duration("24h") && entry.attempts == 2')).toBe('match');
    expect(verdict('entry.workflowUrl == "duration(1d)" || entry.age < duration(\'1d\')')).toBe('match');
    expect(compileExpression(window('duration("1d") - duration("18h")'), PRECONDITION).ok).toBe(true);
  });
});

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
    ['re(entry.workflowUrl, "^https://[^/]+/(invoice|order)$")', 'match'],
    ['re(entry.workflowUrl, "INVOICE")', 'no'],
    ['glob(entry.workflowUrl, "https://*.example.com/*")', 'match'],
    ['glob(entry.workflowUrl, "https://*.example.com")', 'no'],
    ['has(entry.expiresIn)', 'no'],
    ['has(entry.expiresIn) ? entry.expiresIn < duration("4h") : entry.attempts == 2', 'match'],
  ])('%s: %s', (source, expected) => {
    expect(verdict(source)).toBe(expected);
  });

  test('fails on an entry instead of choosing it', () => {
    expect(verdict('entry.attempts / size(entry.labels.filter(l, l == "x")) == 1')).toBe('error');
    expect(verdict('timestamp(entry.workflowUrl) < entry.failedAt')).toBe('error');
    const many = Array.from({ length: 257 }, (_, index) => `l${index}`);
    expect(verdict('!("x" in entry.labels)', { labels: many })).toBe('error');
    expect(verdict('entry.cause == "transient"', { labels: many })).toBe('error');
  });

  test('sees truncated text, whatever an entry contains', () => {
    expect(
      verdict('has(entry.responseText) && entry.responseText.size() == 65536', { responseText: 'x'.repeat(1e6) }),
    ).toBe('match');
  });

  test('treats a missing response as transient', () => {
    const { responseStatus: _, ...silent } = entry();
    const where = compileWhere('entry.reason == "no_response" && entry.cause == "transient"');
    expect(where.ok && where.evaluate({ entry: silent, attempts: 0, now: NOW })).toBe('match');
  });
});

describe('a rejected expression', () => {
  test.each([
    ['a typo in a field', 'entry.reason == "dns" && entry.staus == 3', 31, /no field staus; did you mean status/],
    ['an unknown field', 'entry.zebra == "x"', 6, /no field zebra; it has cause/],
    ['an unknown field in has()', 'has(entry.zebra)', 10, /no field zebra/],
    ['an unknown variable', 'entry.cause == what', 15, /unknown variable: what/i],
    ['types that do not meet', 'entry.cause == 3', 0, /string == int/],
    ['a time compared with a number', 'entry.failedAt > 1700000000', 0, /Timestamp > int/],
    ['a result that is not bool', 'entry.cause', 0, /must be bool, not string/],
    [
      'a cause that there is not',
      'entry.cause == "5xx"',
      15,
      /cause is never "5xx"; it is one of transient, permanent, quota/,
    ],
    ['a cause misspelt, on the left', '"transiant" == entry.cause', 0, /did you mean transient\?/],
    [
      'a reason that is never there, in a list',
      'entry.reason in ["dns", "http5"]',
      24,
      /reason is never "http5"; did you mean http/,
    ],
    ['a comparison that always holds', 'entry.cause != "5xx"', 15, /cause is never "5xx"/],
    [
      'a state that there is not',
      'has(entry.failureFunctionState) && entry.failureFunctionState == "FAIL"',
      65,
      /is never "FAIL"/,
    ],
    [
      'a trigger that there is not',
      'entry.cause == "quota" && trigger.kind == "cron"',
      42,
      /trigger\.kind is never "cron"/,
    ],
    ['a single =', 'entry.cause = "quota"', 12, /= does not compare; write ==/],
    ['a bare duration', 'entry.age > 1h', 12, /write duration\("1h"\)/],
    ['a bare duration of days', 'entry.age > 1.5d && entry.cause == "quota"', 12, /write duration\("36h"\)/],
    ['a letter behind a name', 'entry.age > x1h', -1, /unknown variable: x1h/i],
    ['broken syntax', 'entry.cause ==', 14, /unexpected token/i],
    ['an empty source', '  ', 2, /./],
    ['a backtracking pattern', 'entry.cause.matches("(a+)+$")', 12, /matches\(\) can run for hours/],
    ['a way around the types', 'dyn(entry).cause == 1', 0, /dyn\(\)/],
    ['a field by a computed name', 'entry[entry.cause] == "x"', 0, /entry\.name/],
    ['a macro that is no CEL', 'cel.bind(x, entry.cause, x == "a")', 4, /cel\.bind\(\)/],
    ['a function outside of the list', 'entry.workflowUrl.split("/").size() == 3', 18, /split\(\) is not part/],
    ['a function misspelt', 'entry.workflowUrl.startWith("h")', 18, /did you mean startsWith\(\)\?/],
    ['a fact', 'alertFiring("x") && entry.cause == "a"', 0, /fact of the run, .*; write it under preconditions/],
    ['another resource', 'spend.hoursLeft < 24.0', 0, /`spend` does not exist here; .*budget\.raise/],
    ['the trigger alone', 'trigger.kind == "hand"', 0, /reads nothing of `entry`/],
    ['a broken pattern', 're(entry.workflowUrl, "(")', 22, /not a valid RE2 pattern: missing closing \)/],
    ['a pattern of an entry', 're("a", entry.workflowUrl)', 14, /a quoted literal/],
    ['a pattern as a method', 'entry.workflowUrl.re("a")', 18, /write re\(text, "pattern"\)/],
    ['a pattern of a number', 'glob(entry.attempts, "1*")', 0, /glob\(int, string\)/],
    ['a long pattern', `re(entry.workflowUrl, "${'a'.repeat(1_001)}")`, 22, /at most 1000/],
    ['what may expire without has()', 'entry.expiresIn < duration("4h")', 6, /may be missing/],
    ['an optional field without has()', 'entry.attempts > 1 && entry.status == 503', 28, /may be missing: write has/],
    ['has() on the wrong side', '!has(entry.status) && entry.status == 503', 28, /may be missing/],
    ['has() in another branch', 'has(entry.status) ? true : entry.status == 503', 33, /may be missing/],
    ['nothing of entry', '1 < 2', 0, /reads nothing of `entry`/],
    ['an element named entry', '[1].exists(entry, entry == 1)', 11, /the name `entry` is already in use/],
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

describe('an entry whose DLQ forgets', () => {
  test.each([
    ['2h', 'match'],
    ['30m', 'match'],
    ['10h', 'no'],
  ])('after %s: %s', (retention, expected) => {
    const where = compileWhere('has(entry.expiresIn) && entry.expiresIn <= duration("1h")');
    if (!where.ok) throw new Error(where.message);
    const known = { attempts: 0, retention: parseDuration(retention)! };
    expect(where.evaluate({ entry: entry(), ...known, now: NOW })).toBe(expected);
  });
});

test('a pattern takes no longer on its worst text', () => {
  const where = compileWhere('has(entry.responseText) && re(entry.responseText, "^(a+)+$")');
  if (!where.ok) throw new Error(where.message);
  // A backtracking engine needs 2^60000 steps for it.
  const facts = { entry: entry({ responseText: `${'a'.repeat(60_000)}b` }), attempts: 0, now: NOW };
  expect(where.evaluate(facts)).toBe('no');
});

describe('the trigger', () => {
  const where = compileWhere(
    'entry.attempts == 0 && trigger.kind == "alert" && has(trigger.name) && trigger.name == "Down"',
  );
  if (!where.ok) throw new Error(where.message);
  const facts = { entry: entry(), attempts: 0, now: NOW };

  test.each<[Trigger | undefined, string]>([
    [{ kind: 'alert', name: 'Down', key: 'k' }, 'match'],
    [{ kind: 'alert', name: 'Up', key: 'k' }, 'no'],
    [{ kind: 'hand' }, 'no'],
    [undefined, 'error'],
  ])('%o: %s', (trigger, expected) => {
    expect(where.evaluate(facts, trigger)).toBe(expected);
  });
});

describe('an expression over dead messages', () => {
  const deadLetter: DeadLetter = {
    account: 'main',
    dlqId: 'dlq-1',
    messageId: 'msg-1',
    learnedAt: NOW - 7_200_000,
    labels: ['mail'],
    url: 'https://mail.example.com/send',
    status: 410,
    retried: 3,
  };

  test.each([
    ['entry.cause == "permanent" && entry.reason == "http"', 'match'],
    ['entry.age == duration("2h") && entry.failedAt == timestamp("2025-11-20T10:00:00Z")', 'match'],
    ['has(entry.status) && entry.status == 410 && has(entry.retried) && entry.retried >= 3', 'match'],
    ['"mail" in entry.labels && has(entry.url) && glob(entry.url, "https://mail.*")', 'match'],
    ['has(entry.topicName) && entry.topicName == "mails"', 'no'],
  ])('%s: %s', (source, expected) => {
    const where = compileExpression(source, DEAD_LETTER);
    expect(where.ok && where.evaluate({ deadLetter, now: NOW })).toBe(expected);
  });

  test('has the fields of a callback, not those of a run', () => {
    expect(compileExpression('entry.workflowUrl == "x"', DEAD_LETTER)).toMatchObject({
      ok: false,
      message: 'entry has no field workflowUrl; did you mean url?',
    });
    expect(compileExpression('entry.url == "x"', DEAD_LETTER)).toMatchObject({
      message: expect.stringMatching(/has\(/),
    });
  });
});

describe('an expression over the budget', () => {
  const budget: KnownBudget = { knownUsd: 100, origin: 'configuration', assertedAt: NOW, maxAgeMs: 1 };
  const spend: BudgetFacts = { monthUsd: 90, hoursLeft: 30, fresh: true };

  function raise(source: string, over: Partial<BudgetFacts> = {}): string {
    const where = compileExpression(source, ACCOUNT_BUDGET);
    if (!where.ok) throw new Error(where.message);
    return where.evaluate({ spend: { ...spend, ...over }, budget });
  }

  test.each([
    ['spend.hoursLeft < 24.0', 'no'],
    ['spend.hoursLeft < 24.0 || spend.monthUsd >= 0.85 * double(budget.knownUsd)', 'match'],
    ['spend.fresh && budget.origin == "configuration"', 'match'],
    // An unknown value is neither true nor false, unless the other side is true.
    ['spend.medianDayUsd < 10.0', 'error'],
    ['spend.medianDayUsd < 10.0 || spend.monthUsd > 80.0', 'match'],
    ['spend.medianDayUsd < 10.0 && spend.monthUsd > 80.0', 'error'],
    ['has(spend.medianDayUsd) && spend.medianDayUsd < 10.0', 'no'],
  ])('%s: %s', (source, expected) => {
    expect(raise(source)).toBe(expected);
  });

  test('never says yes to what is no number', () => {
    expect(raise('spend.hoursLeft < 24.0', { hoursLeft: NaN })).not.toBe('match');
  });
});

describe('a precondition', () => {
  const facts: PreconditionFacts = {
    successRatio: (host, windowMs) => (host === 'app.example.com' && windowMs === 900_000 ? 0.97 : undefined),
    sampleSize: () => 312,
    arrivals: (label) => (label === 'billing' ? 4 : undefined),
    alertFiring: (name) => (name === 'never heard' ? undefined : name === 'Down'),
    flowWaiting: () => 7,
    flowPaused: () => false,
    canary: (name) => (name === 'home' ? 'service_reporting' : undefined),
    dlqMessages: () => 90,
    dlqFillRatio: () => NaN,
    policyTripped: (glob, windowMs) => glob === 'resume-*' && windowMs === 3_600_000,
  };

  test.each([
    ['!alertFiring("Up")', 'match'],
    ['!alertFiring("Down")', 'no'],
    ['!alertFiring("never heard")', 'error'],
    ['alertFiring("never heard") || alertFiring("Down")', 'match'],
    ['successRatio("app.example.com", duration("15m")) > 0.95 && sampleSize("x", duration("1m")) >= 20', 'match'],
    ['successRatio("app.example.com", duration("1m")) > 0.95', 'error'],
    ['arrivals("billing", duration("10m")) < 5', 'match'],
    ['flowWaiting("k") == 7 && !flowPaused("k") && dlqMessages() < 100', 'match'],
    ['canary("home") == "service_reporting"', 'match'],
    ['canary("home") in ["service", "network"]', 'no'],
    ['canary("home") != "ok" && !canary("home").startsWith("service_")', 'no'],
    ['canary("not read yet") == "unknown"', 'error'],
    ['dlqFillRatio() < 0.5', 'error'],
    ['policyTripped("resume-*", duration("1h"))', 'match'],
    ['trigger.kind == "hand"', 'match'],
  ])('%s: %s', (source, expected) => {
    const compiled = compileExpression(source, PRECONDITION);
    if (!compiled.ok) throw new Error(compiled.message);
    expect(compiled.evaluate(facts, { kind: 'hand' })).toBe(expected);
  });

  test.each([
    ['1 < 2', 0, /calls no fact/],
    ['entry.cause == "x"', 0, /`entry` does not exist here/],
    ['alertFirin("x")', 0, /did you mean alertFiring\(\)/],
    ['canary("home") == "sevice"', 18, /canary\(\) is never "sevice"; did you mean service\?/],
    ['"fine" != canary("home")', 0, /canary\(\) is never "fine"; it is one of ok, service, /],
    ['canary("home") in ["ok", "down"]', 25, /canary\(\) is never "down"/],
    ['canary("ho" + "me") == "ok"', 7, /the name in canary\(\) must be a quoted literal/],
    ['["a"].exists(name, canary(name) == "ok")', 26, /must be a quoted literal/],
    ['canary() == "ok"', 0, /must be a quoted literal/],
    ['canary("home")', 0, /must be bool, not string/],
    ['!alertFiring', 1, /is a function; write alertFiring\(…\)/],
    ['successRatio("a", "15m") > 0.9', 0, /successRatio\(string, string\)/],
    ['dlqMessages()', 0, /must be bool, not int/],
  ])('%s is rejected', (source, offset, message) => {
    expect(compileExpression(source, PRECONDITION)).toMatchObject({
      ok: false,
      offset,
      message: expect.stringMatching(message) as string,
    });
  });
});

test('any text compiles or is rejected with its place', () => {
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
        expect(['match', 'no', 'error']).toContain(where.evaluate({ entry: entry(), attempts: 0, now: NOW }));
      } else {
        expect(where.message).not.toBe('');
        expect(where.offset).toBeGreaterThanOrEqual(0);
        expect(where.offset).toBeLessThanOrEqual(text.length);
      }
    }),
    { numRuns: 2_000 },
  );
});
