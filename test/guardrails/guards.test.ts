import { describe, expect, test } from 'vitest';
import type { WorkflowDlqEntry } from '../../src/domain/workflow-dlq.ts';
import { approval } from '../../src/guardrails/approval.ts';
import { attempts } from '../../src/guardrails/attempts.ts';
import { caps } from '../../src/guardrails/caps.ts';
import { claim } from '../../src/guardrails/claim.ts';
import { completeRead } from '../../src/guardrails/complete-read.ts';
import { echoCheck } from '../../src/guardrails/echo-check.ts';
import { failureFunction } from '../../src/guardrails/failure-function.ts';
import { foreignActor } from '../../src/guardrails/foreign-actor.ts';
import type { Candidate, EntryRules, ReadFacts, SentFilter } from '../../src/guardrails/guard.ts';
import { GUARDS } from '../../src/guardrails/index.ts';
import { killSwitch } from '../../src/guardrails/kill-switch.ts';
import { mode } from '../../src/guardrails/mode.ts';
import { moreThanAsked } from '../../src/guardrails/more-than-asked.ts';
import { protectedLabel } from '../../src/guardrails/protected.ts';
import { sanity } from '../../src/guardrails/sanity.ts';
import { where } from '../../src/guardrails/where.ts';

const NOW = Date.UTC(2025, 10, 20, 12);
const HOUR = 3_600_000;

function entry(over: Partial<WorkflowDlqEntry> = {}): WorkflowDlqEntry {
  return {
    dlqId: 'dlq-1',
    workflowRunId: 'wfr-1',
    workflowUrl: 'https://app.example.com/invoice',
    createdAt: NOW - HOUR,
    labels: ['billing'],
    ...over,
  };
}

function read(over: Partial<ReadFacts> = {}): ReadFacts {
  return { complete: true, entries: [entry()], dropped: 0, filter: {}, now: NOW, ...over };
}

function candidate(over: Partial<Candidate> = {}): Candidate {
  return {
    entry: entry(),
    lineage: 'l1',
    attempts: 0,
    rejections: 0,
    sentBefore: false,
    lineageTaken: false,
    ...over,
  };
}

const RULES: EntryRules = {
  now: NOW,
  protectedLabels: ['no-auto'],
  failureFunctionStates: [],
  maxAttempts: 3,
  backoff: [HOUR, 2 * HOUR],
};

test('names are words of metrics, each once', () => {
  const names = GUARDS.map((guard) => guard.name);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[a-z_]+$/);
});

test('kill_switch repeats why', () => {
  expect(killSwitch({ mode: 'enforce', paused: 'file PAUSE' })).toBe('file PAUSE');
  expect(killSwitch({ mode: 'enforce' })).toBeUndefined();
});

test('mode and approval let nothing but enforce through', () => {
  const stopped = (['off', 'audit', 'approve', 'enforce'] as const).map((value) => [
    mode({ mode: value }) !== undefined,
    approval({ mode: value }) !== undefined,
  ]);
  expect(stopped).toEqual([
    [true, false],
    [true, false],
    [false, true],
    [false, false],
  ]);
});

test('complete_read says why', () => {
  expect(completeRead(read())).toBeUndefined();
  expect(completeRead(read({ complete: false, problem: 'timeout' }))).toBe('the listing is not complete: timeout');
});

describe('echo_check', () => {
  test.each([
    ['label', { label: ['billing', 'x'] }, { labels: ['y', 'x'] }, { labels: ['y'] }],
    ['workflowUrl', { workflowUrl: ['https://a/1'] }, { workflowUrl: 'https://a/1' }, { workflowUrl: 'https://a/11' }],
    ['flowControlKey', { flowControlKey: ['k'] }, { flowControlKey: 'k' }, {}],
    [
      'failureFunctionState',
      { failureFunctionState: ['CALLBACK_FAIL'] },
      { failureFunctionState: 'CALLBACK_FAIL' },
      { failureFunctionState: 'CALLBACK_SUCCESS' },
    ],
    ['fromDate', { fromDate: NOW }, { createdAt: NOW }, { createdAt: NOW - 1 }],
    ['fromDate', { fromDate: NOW }, { createdAt: NOW - 1, workflowCreatedAt: NOW }, { workflowCreatedAt: NOW - 1 }],
    ['toDate', { toDate: NOW }, { createdAt: NOW }, { createdAt: NOW + 1 }],
    ['toDate', { toDate: NOW }, { createdAt: NOW + 1, workflowCreatedAt: NOW }, { createdAt: NOW + 1 }],
  ] as [string, SentFilter, Partial<WorkflowDlqEntry>, Partial<WorkflowDlqEntry>][])(
    '%s: %o passes %o and catches %o among others',
    (name, filter, good, bad) => {
      expect(echoCheck(read({ filter, entries: [entry(good)] }))).toBeUndefined();
      expect(echoCheck(read({ filter, entries: [entry(good), entry({ ...bad, dlqId: 'dlq-2' })] }))).toBe(
        `the service ignored the filter ${name}: it listed dlq-2`,
      );
    },
  );
});

describe('sanity', () => {
  test.each([
    [{}, undefined],
    [{ clockSkewMs: 60_000 }, undefined],
    [{ clockSkewMs: 61_000 }, "the local clock is 61 s ahead of the service's"],
    [{ clockSkewMs: -3_600_000 }, "the local clock is 3600 s behind the service's"],
    [{ dropped: 1 }, '1 listed entry could not be understood'],
    [{ dropped: 2 }, '2 listed entries could not be understood'],
    [{ entries: [entry({ dlqId: '' })] }, 'an entry without dlqId was listed'],
    [{ entries: [entry({ workflowRunId: '' })] }, 'an entry without workflowRunId was listed'],
    [{ entries: [entry({ workflowUrl: '' })] }, 'an entry without workflowUrl was listed'],
    [{ entries: [entry(), entry({ createdAt: 1 })] }, 'createdAt of dlq-1 cannot be: 1'],
    [{ entries: [entry({ createdAt: Number.NaN })] }, 'createdAt of dlq-1 cannot be: NaN'],
    [{ entries: [entry({ createdAt: NOW + 24 * HOUR })] }, undefined],
    [{ entries: [entry({ createdAt: NOW + 24 * HOUR + 1 })] }, /createdAt of dlq-1 cannot be/],
    [{ entries: [entry({ workflowCreatedAt: Date.UTC(2014, 0) })] }, /workflowCreatedAt of dlq-1 cannot be/],
  ] as [Partial<ReadFacts>, string | RegExp | undefined][])('%o', (facts, reason) => {
    const said = sanity(read(facts));
    if (reason instanceof RegExp) expect(said).toMatch(reason);
    else expect(said).toBe(reason);
  });
});

test('where tolerates a twentieth', () => {
  expect(where({ entries: 0, errors: 0 })).toBeUndefined();
  expect(where({ entries: 100, errors: 5 })).toBeUndefined();
  expect(where({ entries: 100, errors: 6 })).toBe('the expression failed on 6 of 100 entries');
});

test('protected compares labels whole', () => {
  expect(protectedLabel(candidate({ entry: entry({ labels: ['a', 'no-auto'] }) }), RULES)).toEqual({
    reason: 'no-auto',
  });
  expect(protectedLabel(candidate({ entry: entry({ labels: ['no-auto-really'] }) }), RULES)).toBeUndefined();
});

test.each([
  [undefined, [], true],
  ['CALLBACK_FAIL', [], true],
  ['CALLBACK_SUCCESS', [], false],
  ['CALLBACK_SUCCESS', ['CALLBACK_SUCCESS'], true],
  ['CALLBACK_CANCELED', ['CALLBACK_SUCCESS'], false],
  ['CALLBACK_CANCELED', ['CALLBACK_CANCELED'], true],
  ['CALLBACK_INPROGRESS', ['CALLBACK_INPROGRESS'], false],
  ['SOMETHING_NEW', ['SOMETHING_NEW'], false],
])('failure_function: %s with %j asked for passes: %s', (state, listed, passes) => {
  const one = candidate({ entry: entry(state === undefined ? {} : { failureFunctionState: state }) });
  const said = failureFunction(one, { ...RULES, failureFunctionStates: listed });
  expect(said).toEqual(passes ? undefined : { reason: state });
});

test('foreign_actor names the other instance', () => {
  expect(foreignActor(candidate({ foreignInstance: 'elsewhere' }))).toEqual({
    reason: 'stamped by instance elsewhere',
  });
  expect(foreignActor(candidate())).toBeUndefined();
});

describe('attempts', () => {
  test.each([
    ['none so far', {}, undefined],
    ['the last one', { attempts: 3, lastAttemptAt: 0 }, { reason: '3 of 3' }],
    ['one, a moment ago', { attempts: 1, lastAttemptAt: NOW - 1 }, { reason: 'backing off', until: NOW - 1 + HOUR }],
    ['one, long enough ago', { attempts: 1, lastAttemptAt: NOW - HOUR }, undefined],
    ['two wait longer', { attempts: 2, lastAttemptAt: NOW - HOUR }, { reason: 'backing off', until: NOW + HOUR }],
    ['one that only a stamp knows', { attempts: 1 }, undefined],
    [
      'one that only a stamp knows, failed just now',
      { attempts: 1, entry: entry({ createdAt: NOW }) },
      { reason: 'backing off', until: NOW + HOUR },
    ],
    [
      'refused a moment ago',
      { rejections: 5, lastRejectedAt: NOW },
      { reason: 'refused by the service, backing off', until: NOW + 2 * HOUR },
    ],
    [
      'a label with a comma',
      { entry: entry({ labels: ['a,b'] }) },
      { reason: 'a label cannot be sent again beside the stamp' },
    ],
    [
      'a label that no header can carry',
      { entry: entry({ labels: ['größe'] }) },
      { reason: 'a label cannot be sent again beside the stamp' },
    ],
    ['labels with spaces and signs', { entry: entry({ labels: ['tenant 14 (a=b)', '-', 'opsd:x:y:1'] }) }, undefined],
  ] as [string, Partial<Candidate>, unknown][])('%s', (_what, over, expected) => {
    expect(attempts(candidate(over), RULES)).toEqual(expected);
  });

  test('the last wait holds for all further attempts', () => {
    const rules = { ...RULES, maxAttempts: 10 };
    expect(attempts(candidate({ attempts: 7, lastAttemptAt: NOW - 2 * HOUR + 1 }), rules)).toBeDefined();
    expect(attempts(candidate({ attempts: 7, lastAttemptAt: NOW - 2 * HOUR }), rules)).toBeUndefined();
  });
});

test('claim: sent before, or by way of another entry', () => {
  expect(claim(candidate())).toBeUndefined();
  expect(claim(candidate({ sentBefore: true }))).toEqual({ reason: 'sent before' });
  expect(claim(candidate({ lineageTaken: true }))).toEqual({ reason: 'another entry of the same run is listed' });
});

test('caps: the smallest limit counts', () => {
  const cap = (scope: string, used: number, limit: number) => ({ scope, window: 'hour', used, limit });
  const take = (matched: number, maxPerRun: number, ...list: ReturnType<typeof cap>[]) =>
    caps({ matched, maxPerRun, caps: list });
  expect(take(5, 10, cap('policy', 0, 10))).toEqual({ allowed: 5 });
  expect(take(15, 10, cap('policy', 0, 10))).toEqual({ allowed: 10, reason: 'a run acts on at most 10' });
  expect(take(15, 10, cap('policy', 7, 10), cap('engine', 8, 10))).toEqual({
    allowed: 2,
    reason: 'engine hour: 8 of 10 used',
  });
  expect(take(15, 10, cap('policy', 12, 10)).allowed).toBe(0);
  expect(take(0, 10, cap('policy', 12, 10))).toEqual({ allowed: 0 });
});

test('more_than_asked: exactly one for one', () => {
  expect(moreThanAsked({ asked: 1, done: 1 })).toBeUndefined();
  expect(moreThanAsked({ asked: 1, done: 2 })).toBe('2 runs were resumed where 1 was asked for');
});
