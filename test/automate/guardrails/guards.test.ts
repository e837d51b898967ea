import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { begin } from '#automate/guardrails/campaign.ts';
import { holdText } from '#foundation/domain/hold.ts';
import type { PlanCap, WorkflowDlqSelection } from '#foundation/domain/plan.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { arrivals, destination, quota, ramp, tripwire } from '#automate/guardrails/group-guards.ts';
import { approval, outcomeMismatch, caps, mode, exceededRequest, probation } from '#automate/guardrails/send-guards.ts';
import {
  attempts,
  claim,
  failureFunction,
  otherInstance,
  grace,
  protectedLabel,
} from '#automate/guardrails/entry-guards.ts';
import {
  clock,
  coolDown,
  killSwitch,
  lease,
  minInterval,
  precondition,
  window,
} from '#automate/guardrails/run-guards.ts';
import { incompleteRead, filterMismatch, implausibleData, where } from '#automate/guardrails/read-guards.ts';
import { confirmation, knownBudget, raiseLimits, surge } from '#automate/guardrails/budget-guards.ts';
import type {
  QuotaFacts,
  AuthorityFacts,
  OutcomeFacts,
  Candidate,
  EntryRules,
  GroupFacts,
  GroupVerdict,
  MatchedFacts,
  Objection,
  RaiseFacts,
  ReadFacts,
  RunFacts,
} from '#automate/guardrails/guard.ts';
import { GUARDS } from '#automate/guardrails/index.ts';

const NOW = Date.UTC(2025, 10, 20, 12);
const HOUR = 3_600_000;
const REJECTED = 'rejected by the service, backing off';
const PLACE = { id: 'p/1', policy: 'p', account: 'a', group: 'g' };

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
    attempts: 0,
    rejections: 0,
    sentBefore: false,
    lineageTaken: false,
    ...over,
  };
}

const RULES: EntryRules = {
  action: 'workflow-dlq.resume',
  now: NOW,
  protectedLabels: ['no-auto'],
  failureFunctionStates: [],
  maxAttempts: 3,
  backoff: [HOUR, 2 * HOUR],
  afterDeploy: 0,
  grace: 0,
};

const DELETES: EntryRules = { ...RULES, action: 'workflow-dlq.delete' };

function run(over: Partial<RunFacts> = {}): RunFacts {
  return { unmet: [], minInterval: 0, now: NOW, ...over };
}

function authority(over: Partial<AuthorityFacts> = {}): AuthorityFacts {
  return { mode: 'enforce', isApproved: false, probationLeft: 0, ...over };
}

function group(over: Partial<GroupFacts> = {}): GroupFacts {
  return {
    action: 'workflow-dlq.resume',
    group: 'g',
    matched: 7,
    deliveriesMs: 900_000,
    arrivals: { last10m: 0, baseline10m: 0 },
    now: NOW,
    ...over,
  };
}

test('the list holds each guard once, under the name of its function', async () => {
  const room = join(import.meta.dirname, '../../../src/automate/guardrails');
  const files = readdirSync(room).filter((file) => file.endsWith('-guards.ts'));
  const modules = await Promise.all(files.map((file) => import(join(room, file)) as Promise<object>));
  // The engine asks this question by itself.
  const others = new Set(['missedFilter']);
  const guards = modules.flatMap((module) => Object.keys(module)).filter((name) => !others.has(name));
  expect(GUARDS.map((guard) => guard.check.name).toSorted()).toEqual(guards.toSorted());
  const named = (name: string): string => name.replaceAll(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase());
  for (const guard of GUARDS) {
    expect(guard.check.name).toBe(guard.name === 'protected' ? 'protectedLabel' : named(guard.name));
  }
});

test('the list has the order in which the stages are evaluated', () => {
  const stages = GUARDS.map((guard) => guard.stage);
  const order = 'run read evaluated entry account matched group budget plan act answer outcome';
  expect([...new Set(stages)].join(' ')).toBe(order);
  // A stage that restarts would occur twice.
  expect(stages.filter((stage, i) => stage !== stages[i - 1])).toEqual([...new Set(stages)]);
});

test('kill_switch, lease and window repeat the reason', () => {
  const paused = { reason: 'file PAUSE', remedy: 'remove the file', since: NOW };
  expect(killSwitch(run({ paused }))).toMatchObject({
    measured: 'file PAUSE',
    remedy: 'remove the file',
    since: NOW,
  });
  expect(killSwitch(run())).toBeUndefined();
  expect(lease(run({ leaseLost: 'epoch 4 has it' }))?.measured).toBe('epoch 4 has it');
  expect(lease(run())).toBeUndefined();
  expect(window(run({ opensAt: NOW }))).toMatchObject({ measured: 'the policy is outside its windows', until: NOW });
  expect(window(run({ opensAt: Infinity }))).not.toHaveProperty('until', expect.anything());
  expect(window(run())).toBeUndefined();
});

test('precondition names false and unknown facts', () => {
  expect(precondition(run())).toBeUndefined();
  expect(precondition(run({ unmet: [{ name: 'no incident', verdict: 'no' }] }))?.measured).toBe('no incident is false');
  const [unknown, no] = [{ name: 'a', verdict: 'error' } as const, { name: 'b', verdict: 'no' } as const];
  expect(precondition(run({ unmet: [unknown, no] }))?.measured).toBe('a is unknown, b is false');
});

test.each([
  ['no act before', { minInterval: HOUR }, true],
  ['none asked for', { lastIntentAt: NOW, minInterval: 0 }, true],
  ['none asked for, and the clock went back', { lastIntentAt: NOW + 1, minInterval: 0 }, true],
  ['one moment short', { lastIntentAt: NOW - HOUR + 1, minInterval: HOUR }, false],
  ['just long enough', { lastIntentAt: NOW - HOUR, minInterval: HOUR }, true],
])('min_interval: %s', (_what, over, passes) => {
  const said = minInterval(run(over));
  if (passes) expect(said).toBeUndefined();
  else
    expect(said).toMatchObject({
      measured: 'the last action was at 2025-11-20T11:00:00.001Z',
      needed: 'limits.minInterval is 1h',
      until: NOW + 1,
    });
});

test.each([
  ['none', {}, true],
  ['one moment short', { lastUnknownAt: NOW - HOUR + 1 }, false],
  ['just long enough', { lastUnknownAt: NOW - HOUR }, true],
])('cool_down after a prune of which nobody knows: %s', (_what, over, passes) => {
  const found = coolDown(run(over));
  if (passes) expect(found).toBeUndefined();
  else
    expect(found).toMatchObject({
      measured: 'the result of the prune at 2025-11-20T11:00:00.001Z is unknown',
      until: NOW + 1,
    });
});

test.each([
  [{ mode: 'off', isApproved: true }, ['mode']],
  [{ mode: 'audit', isApproved: true }, ['mode']],
  [{ mode: 'approve' }, ['approval']],
  [{ mode: 'approve', isApproved: true }, []],
  [{ mode: 'approve', probationLeft: 3 }, ['approval']],
  [{ mode: 'enforce' }, []],
  [{ mode: 'enforce', needsApproval: 'tripped' }, ['approval']],
  [{ mode: 'enforce', needsApproval: 'tripped', isApproved: true }, []],
  [{ mode: 'enforce', probationLeft: 1 }, ['probation']],
  [{ mode: 'enforce', probationLeft: 1, isApproved: true }, []],
] as [Partial<AuthorityFacts>, string[]][])('mode, probation, approval: %o', (over, expected) => {
  const asked = Object.entries({ mode, probation, approval });
  expect(asked.filter(([, check]) => check(authority(over)) !== undefined).map(([name]) => name)).toEqual(expected);
});

test('mode, probation and approval report what they wait for', () => {
  expect(mode(authority({ mode: 'off' }))?.measured).toBe('the mode is off');
  expect(mode(authority({ mode: 'audit', reducedBy: 'OPSD_MODE is audit' }))?.measured).toBe(
    'the mode is audit (OPSD_MODE is audit)',
  );
  expect(probation(authority({ probationLeft: 1 }))?.measured).toBe('on probation: 1 more run in audit');
  expect(probation(authority({ probationLeft: 3 }))?.measured).toBe('on probation: 3 more runs in audit');
  expect(approval(authority({ mode: 'approve' }))?.measured).toBe('the plan waits for approval by an operator');
  expect(approval(authority({ needsApproval: '9 of 10' }))?.measured).toBe(
    'the plan waits for approval by an operator: 9 of 10',
  );
});

test('incomplete_read reports the reason', () => {
  expect(incompleteRead(read())).toBeUndefined();
  expect(incompleteRead(read({ complete: false, problem: 'timeout' }))?.measured).toBe(
    'the listing is incomplete: timeout',
  );
});

describe('filter_mismatch', () => {
  test.each([
    ['label', { label: ['billing', 'x'] }, { labels: ['y', 'x'] }, { labels: ['y'] }],
    ['label', { label: [' x '] }, { labels: ['y', 'x'] }, { labels: ['xx'] }],
    ['workflowUrl', { workflowUrl: ['https://a/1'] }, { workflowUrl: 'https://a/1' }, { workflowUrl: 'https://a/11' }],
    ['flowControlKey', { flowControlKey: ['k'] }, { flowControlKey: 'k' }, {}],
    [
      'failureFunctionState',
      { failureFunctionState: ['CALLBACK_FAIL'] },
      { failureFunctionState: 'CALLBACK_FAIL' },
      { failureFunctionState: 'CALLBACK_SUCCESS' },
    ],
    ['callerIp', { callerIp: ['10.0.0.1'] }, { callerIp: '10.0.0.1' }, { callerIp: '10.0.0.11' }],
    ['callerIp', { callerIp: ['10.0.0.1'] }, { callerIp: '10.0.0.1' }, {}],
    ['fromDate', { fromDate: NOW }, { createdAt: NOW }, { createdAt: NOW - 1 }],
    ['fromDate', { fromDate: NOW }, { createdAt: NOW - 1, workflowCreatedAt: NOW }, { workflowCreatedAt: NOW - 1 }],
    ['toDate', { toDate: NOW }, { createdAt: NOW }, { createdAt: NOW + 1 }],
    ['toDate', { toDate: NOW }, { createdAt: NOW + 1, workflowCreatedAt: NOW }, { createdAt: NOW + 1 }],
  ] as [string, WorkflowDlqSelection, Partial<WorkflowDlqEntry>, Partial<WorkflowDlqEntry>][])(
    '%s: %o passes %o and catches %o among others',
    (name, filter, good, bad) => {
      expect(filterMismatch(read({ filter, entries: [entry(good)] }))).toBeUndefined();
      expect(
        filterMismatch(read({ filter, entries: [entry(good), entry({ ...bad, dlqId: 'dlq-2' })] }))?.measured,
      ).toBe(`the service ignored the filter ${name}: it listed dlq-2`);
    },
  );
});

test.each([
  [undefined, 'no response from the service since the daemon started, so the local clock is not checked'],
  [0, undefined],
  [60_000, undefined],
  [-60_000, undefined],
  [60_001, "the local clock is 61 s ahead of the service's"],
  [-31 * 24 * HOUR, "the local clock is 2678400 s behind the service's"],
])('clock: %o', (clockSkewMs, reason) => {
  const skew = clockSkewMs === undefined ? {} : { clockSkewMs };
  expect(clock({ unmet: [], minInterval: 0, now: NOW, ...skew })?.measured).toBe(reason);
});

describe('implausible_data', () => {
  test.each([
    [{}, undefined],
    [{ clockSkewMs: 60_000 }, undefined],
    [{ clockSkewMs: -60_000 }, undefined],
    [{ clockSkewMs: 60_001 }, "the local clock is 61 s ahead of the service's"],
    [{ clockSkewMs: 61_000 }, "the local clock is 61 s ahead of the service's"],
    [{ clockSkewMs: -3_600_000 }, "the local clock is 3600 s behind the service's"],
    [{ dropped: 1 }, '1 listed entry could not be parsed'],
    [{ dropped: 2 }, '2 listed entries could not be parsed'],
    [{ entries: [entry({ dlqId: '' })] }, 'the listing has an entry without dlqId'],
    [{ entries: [entry({ workflowRunId: '' })] }, 'the listing has an entry without workflowRunId'],
    [{ entries: [entry({ workflowUrl: '' })] }, 'the listing has an entry without workflowUrl'],
    [{ entries: [entry(), entry({ createdAt: 1 })] }, 'createdAt of dlq-1 is out of range: 1'],
    [{ entries: [entry({ createdAt: Number.NaN })] }, 'createdAt of dlq-1 is out of range: NaN'],
    [{ entries: [entry({ createdAt: NOW + 24 * HOUR })] }, undefined],
    [{ entries: [entry({ createdAt: NOW + 24 * HOUR + 1 })] }, /createdAt of dlq-1 is out of range/],
    [{ entries: [entry({ timesIn: 'seconds' })] }, 'the times of dlq-1 are in seconds, not milliseconds'],
    [{ entries: [entry({ workflowCreatedAt: Date.UTC(2014, 0) })] }, /workflowCreatedAt of dlq-1 is out of range/],
  ] as [Partial<ReadFacts>, string | RegExp | undefined][])('%o', (facts, reason) => {
    const said = implausibleData(read(facts));
    if (reason instanceof RegExp) expect(said?.measured).toMatch(reason);
    else expect(said?.measured).toBe(reason);
  });
});

test('where tolerates a twentieth', () => {
  expect(where({ entries: 0, errors: 0 })).toBeUndefined();
  expect(where({ entries: 100, errors: 5 })).toBeUndefined();
  expect(where({ entries: 100, errors: 6 })?.measured).toBe('the expression failed on 6 of 100 entries');
});

test('protected compares labels whole, without blanks around configured ones', () => {
  const padded = { ...RULES, protectedLabels: [' no-auto '] };
  expect(protectedLabel(candidate({ entry: entry({ labels: ['no-auto'] }) }), padded)).toBeDefined();
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
])('failure_function: %s with %j requested passes: %s', (state, listed, passes) => {
  const one = candidate({ entry: entry(state === undefined ? {} : { failureFunctionState: state }) });
  const said = failureFunction(one, { ...RULES, failureFunctionStates: listed });
  expect(said).toEqual(passes ? undefined : { reason: state });
});

test('other_instance names the other instance', () => {
  expect(otherInstance(candidate({ stampedBy: 'elsewhere' }))).toEqual({
    reason: 'stamped by instance elsewhere',
  });
  expect(otherInstance(candidate())).toBeUndefined();
});

/** Reason of an objection, with the milliseconds until its end. */
const objectionText = (found: Objection | undefined) =>
  found && (found.until === undefined ? found.reason : `${found.reason}, ends in ${found.until - NOW}`);

describe('attempts', () => {
  const UNSENDABLE = 'a label cannot be sent again together with the stamp';
  test.each([
    ['none so far', {}, undefined],
    ['the last one', { attempts: 3, lastAttemptAt: 0 }, '3 of 3'],
    ['one, a moment ago', { attempts: 1, lastAttemptAt: NOW - 1 }, `backing off, ends in ${HOUR - 1}`],
    ['one, long enough ago', { attempts: 1, lastAttemptAt: NOW - HOUR }, undefined],
    ['two wait longer', { attempts: 2, lastAttemptAt: NOW - HOUR }, `backing off, ends in ${HOUR}`],
    ['one that only a stamp knows', { attempts: 1 }, undefined],
    ['the same, failed just now', { attempts: 1, entry: entry({ createdAt: NOW }) }, `backing off, ends in ${HOUR}`],
    ['refused a moment ago', { rejections: 5, lastRejectedAt: NOW }, `${REJECTED}, ends in ${2 * HOUR}`],
    ['a label with a comma', { entry: entry({ labels: ['a,b'] }) }, UNSENDABLE],
    ['a label that no header can carry', { entry: entry({ labels: ['größe'] }) }, UNSENDABLE],
    ['labels with spaces and signs', { entry: entry({ labels: ['tenant 14 (a=b)', '-', 'opsd:x:y:1'] }) }, undefined],
  ] as [string, Partial<Candidate>, unknown][])('%s', (_what, over, expected) => {
    expect(objectionText(attempts(candidate(over), RULES))).toBe(expected);
  });

  test('the last wait holds for all further attempts', () => {
    const rules = { ...RULES, maxAttempts: 10 };
    expect(attempts(candidate({ attempts: 7, lastAttemptAt: NOW - 2 * HOUR + 1 }), rules)).toBeDefined();
    expect(attempts(candidate({ attempts: 7, lastAttemptAt: NOW - 2 * HOUR }), rules)).toBeUndefined();
  });
});

test('attempts: a delete counts none, but waits after a rejection', () => {
  expect(attempts(candidate({ attempts: 3, lastAttemptAt: NOW }), DELETES)).toBeUndefined();
  expect(attempts(candidate({ entry: entry({ labels: ['a,b'] }) }), DELETES)).toBeUndefined();
  const rejected = attempts(candidate({ rejections: 1, lastRejectedAt: NOW }), DELETES);
  expect(objectionText(rejected)).toBe(`${REJECTED}, ends in ${HOUR}`);
});

test('failure_function applies to resumes alone', () => {
  const one = candidate({ entry: entry({ failureFunctionState: 'CALLBACK_INPROGRESS' }) });
  expect(failureFunction(one, DELETES)).toBeUndefined();
});

describe('claim', () => {
  const DAY = 24 * HOUR;
  const TAKEN = 'another entry of the same run is listed';
  const failed = (ago: number) => ({ attempts: 1, entry: entry({ createdAt: NOW - ago }) });
  test.each([
    ['nothing known', {}, undefined, undefined],
    ['sent before', { sentBefore: true }, 'sent before', 'sent before'],
    ['lineage taken', { lineageTaken: true }, TAKEN, TAKEN],
    ['owned', { ownedBy: 'hold-all' }, 'belongs to hold-all', 'belongs to hold-all'],
    [
      'resumed within a day',
      { attempts: 1, lastAttemptAt: NOW - DAY + 1 },
      undefined,
      'resumed within a day, ends in 1',
    ],
    ['resumed a day ago', { attempts: 1, lastAttemptAt: NOW - DAY }, undefined, undefined],
    ['resumed by its stamp, failed within a day', failed(DAY - 1), undefined, 'resumed within a day, ends in 1'],
    ['resumed by its stamp, failed a day ago', failed(DAY), undefined, undefined],
  ] as [string, Partial<Candidate>, unknown, unknown][])('%s', (_what, over, resume, remove) => {
    expect(objectionText(claim(candidate(over), RULES))).toBe(resume);
    expect(objectionText(claim(candidate(over), DELETES))).toBe(remove);
  });
});

describe('grace', () => {
  const rules = { ...DELETES, grace: HOUR };
  test.each([
    ['first match', {}, rules, `matched for the first time, ends in ${HOUR}`],
    ['one moment short', { firstMatchedAt: NOW - HOUR + 1 }, rules, 'within the grace period, ends in 1'],
    ['just long enough', { firstMatchedAt: NOW - HOUR }, rules, undefined],
    ['no grace', {}, DELETES, undefined],
    ['a resume', {}, { ...rules, action: 'workflow-dlq.resume' }, undefined],
  ] as [string, Partial<Candidate>, EntryRules, unknown][])('%s', (_what, over, rules, expected) => {
    expect(objectionText(grace(candidate(over), rules))).toBe(expected);
  });
});

describe('quota', () => {
  const MINUTE = 60_000;
  test.each([
    [{}, undefined],
    [{ refusedAt: NOW - 10 * MINUTE }, undefined],
    [{ refusedAt: NOW - 10 * MINUTE + 1 }, /^the service rejected a request with 429 .* at 2025-11-20T11:50:00.001Z$/],
    [{ refusedAt: NOW + MINUTE }, /^the service rejected/],
    [{ refusedAt: NOW, action: 'workflow-dlq.delete' }, /^the service rejected/],
    [{ refusedAt: NOW, action: 'budget.raise', recentArrivals: { all: 1, quota: 1 } }, undefined],
    [{ recentArrivals: { all: 10, quota: 2 } }, undefined],
    [{ recentArrivals: { all: 10, quota: 3 } }, /^3 of 10 entries that failed in the last 15 minutes failed with 429$/],
  ] as [Partial<QuotaFacts>, RegExp | undefined][])('%o', (over, reason) => {
    const said = quota({
      action: 'workflow-dlq.resume',
      recentArrivals: { all: 0, quota: 0 },
      now: NOW,
      ...over,
    });
    if (reason === undefined) expect(said).toBeUndefined();
    else expect(said?.measured).toMatch(reason);
  });
});

describe('tripwire', () => {
  const REMOVE = { action: 'workflow-dlq.delete', maxMatched: 200, onTrip: 'abort' } as const;
  const MATCHED = 'entries to act on; limits.maxMatched is';
  const SHARE = 'entries to act on; limits.maxMatchedShare is 25 %';
  test.each([
    [{ allowed: 10_000 }, undefined],
    [{ allowed: 10_001 }, `approve: 10001 ${MATCHED} 10000`],
    [{ allowed: 10_001, onTrip: 'abort' }, `abort: 10001 ${MATCHED} 10000`],
    [{ allowed: 10_001, isApproved: true }, undefined],
    [{ allowed: Number.NaN }, `approve: NaN ${MATCHED} 10000`],
    [{ allowed: 100, population: 100 }, undefined],
    [{ ...REMOVE, allowed: 200 }, undefined],
    [{ ...REMOVE, allowed: 201 }, `abort: 201 ${MATCHED} 200`],
    [{ ...REMOVE, allowed: 201, onTrip: 'approve' }, `approve: 201 ${MATCHED} 200`],
    [{ ...REMOVE, allowed: 24, population: 24 }, undefined],
    [{ ...REMOVE, allowed: 6, population: 25 }, undefined],
    [{ ...REMOVE, allowed: 7, population: 25 }, `abort: 7 of 25 ${SHARE}`],
    [{ ...REMOVE, allowed: 25, population: 100 }, undefined],
    [{ ...REMOVE, allowed: 26, population: 100 }, `abort: 26 of 100 ${SHARE}`],
    [{ ...REMOVE, allowed: 26, population: 100, isApproved: true }, undefined],
    [{ ...REMOVE, action: 'message-dlq.delete', allowed: 26, population: 100 }, `abort: 26 of 100 ${SHARE}`],
    [{ ...REMOVE, action: 'message-dlq.prune', allowed: 201 }, `abort: 201 ${MATCHED} 200`],
  ] as [Partial<MatchedFacts>, string | undefined][])('%o', (over, expected) => {
    const limits = { maxMatched: 10_000, maxMatchedShare: 0.25, onTrip: 'approve' } as const;
    const found = tripwire({ action: 'workflow-dlq.resume', allowed: 0, isApproved: false, ...limits, ...over });
    expect(found && `${found.onTrip}: ${found.hold.measured}; ${found.hold.needed}`).toBe(expected);
  });
});

/** Number of allowed entries, reason, and whether all entries pass. */
const verdictText = ({ allowed, reason, passed }: GroupVerdict) => `${allowed}: ${reason}${passed ? ', passed' : ''}`;

describe('destination', () => {
  test.each([
    [{ deliveries: { delivered: 18, all: 20 } }, '7: 0.90 of 20, passed'],
    [{ deliveries: { delivered: 17, all: 20 } }, '0: 0.85 of 20'],
    [{ deliveries: { delivered: 8_999, all: 10_000 } }, '0: 0.89 of 10000'],
    [{ deliveries: { delivered: 19, all: 19 } }, '1: 19 of 19, too few: one canary'],
    [{ deliveries: { delivered: 0, all: 0 } }, '1: 0 of 0, too few: one canary'],
    // Enough for an outage, so nothing is sent into it.
    [{ deliveries: { delivered: 0, all: 10 } }, '0: 0.00 of 10'],
    [{ deliveries: { delivered: 0, all: 10, isPartial: true } }, '0: 0.00 of 10'],
    [{ deliveries: { delivered: 1, all: 10 } }, '1: 1 of 10, too few: one canary'],
    [{ deliveries: { delivered: 0, all: 9 } }, '1: 0 of 9, too few: one canary'],
    [{}, '1: unknown: one canary'],
    [{ matched: 1 }, '1: unknown: one canary, passed'],
    [{ matched: 0 }, '0: unknown: one canary, passed'],
    [{ deliveries: { delivered: Number.NaN, all: 20 } }, '0: NaN of 20'],
    [{ action: 'workflow-dlq.delete', deliveries: { delivered: 0, all: 20 } }, '7: not applicable, passed'],
  ] as [Partial<GroupFacts>, string][])('%o', (over, expected) => {
    expect(verdictText(destination(group(over)))).toBe(expected);
  });

  test.each([
    [{ delivered: 4, all: 20 }, undefined],
    [{ delivered: 4, all: 20, newer: { delivered: 4, all: 16 } }, undefined],
    [{ delivered: 4, all: 20, newer: { delivered: 4, all: 10 } }, 'improving'],
    [{ delivered: 4, all: 20, newer: { delivered: 0, all: 10 } }, 'worsening'],
    [{ delivered: 4, all: 20, newer: { delivered: 2, all: 10 } }, 'steady'],
  ])('a hold has its trend: %o', (deliveries, trend) => {
    const { hold } = destination(group({ deliveries, destination: 'billing.example' }));
    expect(hold?.trend).toBe(trend);
    const found = 'billing.example delivered 4 of 20 attempts in the last 15 minutes';
    const middle = trend === undefined ? found : `${found}, ${trend}`;
    expect(holdText(hold!)).toBe(`${middle}; repairs begin at 90 %; repair the destination`);
  });

  describe('where little is known, a verified canary decides', () => {
    const base = begin(PLACE, { now: NOW, ramp: { start: 1, factor: 3, max: 500, settle: 1 } });
    test.each([
      ['nothing verified', {}, undefined, 1],
      ['verified 15 minutes ago', { verifiedAt: NOW - HOUR / 4 }, undefined, 7],
      ['verified earlier', { verifiedAt: NOW - HOUR / 4 - 1 }, undefined, 1],
      ['verified, no traffic', { verifiedAt: NOW }, { delivered: 0, all: 0 }, 7],
      ['verified, the few arrive', { verifiedAt: NOW }, { delivered: 9, all: 10 }, 7],
      ['verified, but of the few some do not', { verifiedAt: NOW }, { delivered: 8, all: 10 }, 1],
      ['verified, but the destination is down', { verifiedAt: NOW }, { delivered: 17, all: 20 }, 0],
    ] as [string, { verifiedAt?: number }, GroupFacts['deliveries'], number][])(
      '%s',
      (_what, over, deliveries, allowed) => {
        const facts = group({ campaign: { ...base, ...over }, ...(deliveries !== undefined && { deliveries }) });
        expect(destination(facts).allowed).toBe(allowed);
      },
    );
  });
});

describe('arrivals', () => {
  test.each([
    [25, 0, '7: 25 in 10 minutes (≤ 25), passed'],
    [26, 0, '0: 26 in 10 minutes (> 25)'],
    [30, 10, '7: 30 in 10 minutes (≤ 30), passed'],
    [31, 10, '0: 31 in 10 minutes (> 30)'],
    [Number.NaN, 0, '0: NaN in 10 minutes (> 25)'],
  ])('%d with a baseline of %d', (last10m, baseline10m, expected) => {
    const facts = { last10m, baseline10m };
    expect(verdictText(arrivals(group({ arrivals: facts })))).toBe(expected);
    const asked = arrivals(group({ arrivals: facts, action: 'workflow-dlq.delete' }));
    expect(verdictText(asked)).toBe('7: not applicable, passed');
  });
});

describe('ramp', () => {
  const begun = begin(PLACE, { now: NOW, ramp: { start: 5, factor: 3, max: 500, settle: 1 } });
  test.each([
    [{}, '5: step 1: at most 5', undefined],
    [{ size: 7, step: 2 }, '7: step 2: at most 7, passed', undefined],
    [{ state: 'settling', until: NOW + 1 }, '0: step 1 settles', { until: NOW + 1 }],
    [{ state: 'settling', until: NOW }, '0: step 1 is judged by the next listing', {}],
    [{ state: 'halted', until: NOW, reason: 'x' }, '0: halted: x', { remedy: 'find out why the entries fail again' }],
    [{ state: 'audit', reason: 'x' }, '0: in audit: x', {}],
    [{ state: 'ended' }, '0: the campaign has ended', {}],
  ] as [Partial<typeof begun>, string, object | undefined][])('%o', (over, expected, hold) => {
    const verdict = ramp(group({ campaign: { ...begun, ...over } }));
    expect(verdictText(verdict)).toBe(expected);
    if (hold === undefined) expect(verdict.hold).toBeUndefined();
    else expect(verdict.hold).toMatchObject(hold);
  });

  test.each([
    [45, 50, 'worsening'],
    [25, 50, 'steady'],
    [10, 50, 'improving'],
    [2, 4, undefined],
  ])('a halt compares its last results with all before them: %i of %i', (good, before, trend) => {
    const recent = Array.from({ length: 50 }, (_, n) => n % 2 === 0);
    const past = { recent, judged: before + 50, verified: good + 25 };
    expect(ramp(group({ campaign: { ...begun, state: 'halted', ...past } })).hold?.trend).toBe(trend);
  });

  test('without a campaign a resume is one canary, and other actions pass', () => {
    expect(verdictText(ramp(group()))).toBe('1: no campaign');
    expect(verdictText(ramp(group({ action: 'workflow-dlq.delete' })))).toBe('7: no campaign, passed');
  });
});

test('caps: the smallest limit counts, and a value that is not a number allows nothing', () => {
  const cap = (scope: string, used: number, limit: number) => ({ scope, window: 'hour', used, limit });
  const take = (matched: number, maxPerRun: number, ...list: ReturnType<typeof cap>[]) =>
    caps({ matched, maxPerRun, caps: list });
  expect(take(5, 10, cap('policy', 0, 10))).toEqual({ allowed: 5 });
  expect(take(15, 10, cap('policy', 0, 10))).toMatchObject({
    allowed: 10,
    hold: { needed: 'a run acts on at most 10' },
  });
  expect(take(15, 10, cap('policy', 7, 10), cap('engine', 8, 10))).toMatchObject({
    allowed: 2,
    hold: { measured: 'engine hour: 8 of 10 used', windowMs: HOUR },
  });
  expect(take(15, 10, cap('policy', 12, 10)).allowed).toBe(0);
  expect(take(0, 10, cap('policy', 12, 10))).toEqual({ allowed: 0 });
  expect(take(5, 10, cap('policy', Number.NaN, 10)).allowed).toBe(0);
});

test.each([
  [5, 'improving'],
  [13, 'steady'],
  [21, 'worsening'],
  [undefined, undefined],
])('arrivals: a hold compares the newer half of the window with the older: %s', (last5m, trend) => {
  const counts = { last10m: 26, baseline10m: 1, ...(last5m !== undefined && { last5m }) };
  expect(arrivals(group({ arrivals: counts })).hold?.trend).toBe(trend);
});

test.each([
  [{ all: 10, quota: 2 }, 'improving'],
  [{ all: 10, quota: 5 }, 'steady'],
  [{ all: 10, quota: 8 }, 'worsening'],
  [{ all: 4, quota: 4 }, undefined],
])('quota: a hold has its trend: %o', (newer, trend) => {
  const facts = { action: 'workflow-dlq.resume', recentArrivals: { all: 20, quota: 10, newer }, now: NOW } as const;
  expect(quota(facts)?.trend).toBe(trend);
});

test('caps: of several full ones, the one that holds longest counts', () => {
  const full = { scope: 'policy', window: 'hour', used: 10, limit: 10, trend: 'steady' } as const;
  const hour = { ...full, until: NOW + HOUR };
  const day = { ...full, window: 'day', until: NOW + 5 * HOUR };
  const distrusted = { ...full, why: 'the store is an old copy' };
  const holdOf = (...list: PlanCap[]) => caps({ matched: 3, maxPerRun: 10, caps: list }).hold;
  for (const list of [
    [hour, day],
    [day, hour],
  ])
    expect(holdOf(...list)).toMatchObject({ measured: 'policy day: 10 of 10 used', trend: 'steady', until: day.until });
  expect(holdOf(hour, distrusted)).not.toHaveProperty('until', expect.anything());
  expect(holdOf(distrusted, day)).not.toHaveProperty('until', expect.anything());
});

test('exceeded_request: no more than was named', () => {
  expect(exceededRequest({ asked: 1, done: 1 })).toBeUndefined();
  expect(exceededRequest({ asked: 100, done: 0 })).toBeUndefined();
  const found = exceededRequest({ asked: 1, done: 2 });
  expect(found).toMatchObject({ measured: 'the service acted on 2 entries', needed: 'the request allowed 1' });
  expect(exceededRequest({ asked: 100, done: 101 })?.measured).toBe('the service acted on 101 entries');
});

test('outcome_mismatch: each planned act is somewhere, once', () => {
  const even: OutcomeFacts = { planned: 15, acted: 5, skipped: 4, failed: 3, unknown: 2, left: 1 };
  expect(outcomeMismatch(even)).toBeUndefined();
  expect(outcomeMismatch({ ...even, planned: 16 })).toMatchObject({
    measured: '5 acted, 4 skipped, 3 failed, 2 unknown and 1 left',
    needed: 'the sum must be the 16 planned',
  });
  for (const part of ['acted', 'skipped', 'failed', 'unknown', 'left'] as const) {
    expect(outcomeMismatch({ ...even, [part]: even[part] + 1 }), part).toBeDefined();
  }
});

describe('raises of the budget', () => {
  const known = { knownUsd: 100, origin: 'ledger' as const, assertedAt: NOW - HOUR, maxAgeMs: HOUR };
  const spend = { monthUsd: 110, last24hUsd: 25, medianDayUsd: 10, hoursLeft: 5, fresh: true };
  const facts: RaiseFacts = {
    spend,
    known,
    toUsd: 120,
    isApproved: false,
    ceilingUsd: 120,
    raisesThisMonth: 2,
    raisedThisMonthUsd: 130,
    monthEndsAt: NOW + HOUR,
    maxPerMonth: 3,
    maxRaisePerMonthUsd: 150,
    now: NOW,
  };
  const { known: _known, ...unknown } = facts;
  const { monthUsd: _monthUsd, ...noMonth } = spend;
  const { medianDayUsd: _medianDayUsd, ...noMedian } = spend;
  const own = (ownMessagesLastDay: number) => ({ ...spend, messagesLastDay: 100, ownMessagesLastDay });

  test('each lets its bound pass', () => {
    const asked = GUARDS.flatMap((guard) => (guard.stage === 'budget' ? [guard.check(facts)] : []));
    expect(asked).toEqual([undefined, undefined, undefined, undefined]);
  });

  test.each([
    [unknown, 'the budget is unknown'],
    [{ ...facts, now: NOW + 1 }, 'the known budget is too old'],
    [{ ...facts, spend: { ...spend, fresh: false } }, 'the spend of the month is unknown'],
    [{ ...facts, spend: noMonth }, 'the spend of the month is unknown'],
    [{ ...facts, spend: { ...spend, monthUsd: 110.01 } }, 'the spend of $110.01 proves that the budget is not $100'],
  ])('known_budget: %#', (facts, measured) => {
    expect(knownBudget({ ...facts, isApproved: true })).toMatchObject({ verdict: 'hold', hold: { measured } });
  });

  test('known_budget requires approval where an operator can decide, and holds where none can', () => {
    const [hold, approve] = [
      { verdict: 'hold', reason: 'older' } as const,
      { verdict: 'approve', reason: 'old' } as const,
    ];
    expect(knownBudget({ ...facts, doubt: approve })).toMatchObject({
      verdict: 'approve',
      hold: { measured: 'old' },
    });
    expect(knownBudget({ ...facts, doubt: approve, isApproved: true })).toBeUndefined();
    const found = knownBudget({ ...facts, doubt: hold, isApproved: true });
    expect(found).toMatchObject({ verdict: 'hold', hold: { measured: 'older' } });
  });

  test('confirmation waits for the readings, or for approval', () => {
    const one = { ...facts, unconfirmed: { readings: 1, needed: 2, apart: '15m', windowMs: HOUR / 4, until: NOW } };
    const hold = {
      measured: 'reading 1 of 2',
      needed: 'they must agree and be 15m apart',
      windowMs: HOUR / 4,
      until: NOW,
    };
    expect(confirmation(one)).toMatchObject({ verdict: 'hold', hold });
    expect(confirmation({ ...one, isApproved: true })).toBeUndefined();
  });

  test.each([
    [unknown, 'the new budget is unknown', 'the ceiling is $120'],
    [{ ...facts, toUsd: 121 }, 'the new budget would be $121', 'the ceiling is $120'],
    [{ ...facts, toUsd: 100 }, '$100 cannot be raised', 'the ceiling is $120'],
    [{ ...facts, toUsd: Number.NaN }, 'the new budget would be $NaN', 'the ceiling is $120'],
    [{ ...facts, raisesThisMonth: 3 }, '3 raises in this month', 'limits.maxPerMonth is 3', NOW + HOUR],
    [
      { ...facts, raisedThisMonthUsd: 131 },
      '$151 would be added in this month',
      'limits.maxRaisePerMonthUsd is $150',
      NOW + HOUR,
    ],
    [
      { ...facts, maxRaisePerMonthUsd: 19 },
      '$150 would be added in this month',
      'limits.maxRaisePerMonthUsd is $19',
      undefined,
    ],
  ])('raise_limits: %#', (facts, measured, needed, until?: number) => {
    const found = raiseLimits({ ...facts, isApproved: true });
    expect(found).toMatchObject({ verdict: 'hold', hold: { measured, needed } });
    expect(found?.hold.until).toBe(until);
  });

  test.each([
    [5, 'worsening'],
    [25, 'steady'],
    [100, 'improving'],
    [undefined, undefined],
  ])('surge compares the spend with that of the day before: %s', (dayBeforeUsd, trend) => {
    const day = { ...spend, last24hUsd: 26, ...(dayBeforeUsd !== undefined && { dayBeforeUsd }) };
    expect(surge({ ...facts, spend: day })?.hold.trend).toBe(trend);
  });

  test.each([
    [{ ...spend, last24hUsd: 25.01 }, '$25.01 in 24 hours (5.0 hours left)'],
    [noMedian, 'the usual spend of a day is unknown (5.0 hours left)'],
    [own(11), '11 of 100 messages of the last day come from actions of this daemon (5.0 hours left)'],
  ])('surge: %#', (spend, measured) => {
    expect(surge({ ...facts, spend })).toMatchObject({ verdict: 'approve', hold: { measured } });
    expect(surge({ ...facts, spend, isApproved: true })).toBeUndefined();
  });

  test.each([
    ['only own messages are counted: the spend has shown a loop', { ...spend, ownMessagesLastDay: 9 }],
    ['own messages are not counted: the spend has shown a loop', { ...spend, messagesLastDay: 9 }],
    ['a tenth of the messages are own ones', own(10)],
  ])('surge requires no approval where %s', (_what, spend) => {
    expect(surge({ ...facts, spend })).toBeUndefined();
  });
});
