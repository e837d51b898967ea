/** Policies that wait for a deploy: what was fixed is repaired once, and each failed fix costs one canary. */
import { describe, expect, test } from 'vitest';
import type { ReportedDeploy } from '#automate/ledger/deploys.ts';
import { GUARDS } from '#automate/guardrails/index.ts';
import { HOUR, MINUTE, NEVER, START, settleAfter, world, type World, type WorldOptions } from './world.ts';

const POLICY = 'resume-billing';
const APP = 'https://app.example.com/';
const INVOICE = `${APP}invoice`;
const REPORT = `${APP}report`;
const COUNT = 40;

interface Stage extends World {
  /** Workflows that succeed. */
  readonly fixed: Set<string>;
  /** Number of results that are known. */
  ended: number;
}

function stage({ policy, ...options }: WorldOptions = {}): Stage {
  const made = world({
    guards: GUARDS,
    policy: { on: { deploy: true, after: '2m' }, limits: { attempts: { max: 5, backoff: ['12h'] } }, ...policy },
    ...options,
  });
  made.dlq.pageSize = 100;
  // No attempts are known: the destination had no traffic since the deploy.
  made.facts = { deliveries: () => undefined };
  for (let index = 0; index < COUNT; index += 1) {
    for (const workflowUrl of [INVOICE, REPORT]) made.dlq.add({ workflowUrl, responseStatus: 400 });
  }
  return Object.assign(made, { fixed: new Set<string>(), ended: 0 });
}

/** Effect of the hook. */
async function deploy(w: World, version: string, over: Partial<ReportedDeploy> = {}) {
  const at = w.clock.now();
  const reported = { account: 'production', of: [APP], version, at, failed: false, by: 'hook', ...over };
  return w.ledger.recordDeploy(reported, [POLICY]);
}

async function pass(w: Stage, ms: number): Promise<void> {
  for (let gone = 0; gone < ms; gone += 15_000) {
    // A resumed run has its result within seconds.
    for (; w.ended < w.dlq.sent.length; w.ended++) {
      const { resumed } = w.dlq.sent[w.ended]!;
      if (!w.fixed.has(resumed!.workflowUrl)) w.dlq.failAgain(w.ended, { responseStatus: 400 });
    }
    w.observe();
    await settleAfter(w, 15_000);
    const [soon, triggers] = [w.soon.splice(0), w.soonFor.splice(0)];
    for (const [index, policy] of soon.entries()) await w.engine.run(policy, NEVER, triggers[index]);
  }
}

/** Number of resumes of each workflow. */
function resumes({ dlq }: World): Readonly<Record<string, number>> {
  const count = (url: string) => dlq.sent.filter(({ resumed }) => resumed?.workflowUrl === url).length;
  return { invoice: count(INVOICE), report: count(REPORT) };
}

/** Passes time until the campaigns are in their second step. */
async function untilFour(w: Stage): Promise<void> {
  for (let tries = 0; tries < 400 && (resumes(w)['invoice'] ?? 0) < 4; tries++) await pass(w, 15_000);
  expect(resumes(w)['invoice']).toBeGreaterThanOrEqual(4);
}

function left({ dlq }: World): number {
  return dlq.entries.size;
}

function isEachOnce({ dlq }: World): boolean {
  return new Set(dlq.effects).size === dlq.effects.length;
}

async function halts(w: World): Promise<readonly string[]> {
  const [status] = await w.engine.statuses();
  return status!.campaigns.flatMap(({ state, reason }) => (state === 'halted' ? (reason ?? '') : []));
}

test('without a deploy nothing is resumed', async () => {
  const w = stage();
  w.fixed.add(INVOICE).add(REPORT);
  await pass(w, 2 * HOUR);
  await w.engine.run(POLICY, NEVER);
  expect(resumes(w)).toEqual({ invoice: 0, report: 0 });
  expect(w.lastRun().denials).toEqual([{ guard: 'deploy', count: 2 * COUNT }]);
});

test('after a fix all entries are resumed once, a canary first, and not before the wait is over', async () => {
  const w = stage();
  await deploy(w, 'v42');
  w.fixed.add(INVOICE).add(REPORT);
  await pass(w, 2 * MINUTE - 15_000);
  expect(resumes(w)).toEqual({ invoice: 0, report: 0 });
  await pass(w, 30_000);
  expect(resumes(w)).toEqual({ invoice: 1, report: 1 });
  await pass(w, 3 * HOUR);
  expect(left(w)).toBe(0);
  expect(isEachOnce(w)).toBe(true);
});

test('a deploy of eight days ago resumes nothing', async () => {
  const w = stage();
  await deploy(w, 'v42');
  await w.clock.advance(8 * 24 * HOUR);
  w.fixed.add(INVOICE).add(REPORT);
  await pass(w, HOUR);
  await w.engine.run(POLICY, NEVER);
  expect(resumes(w)).toEqual({ invoice: 0, report: 0 });
  expect(w.lastRun().denials).toEqual([{ guard: 'deploy', count: 2 * COUNT }]);
});

test('a deploy that fixes nothing costs one canary of each workflow, until the next deploy', async () => {
  const w = stage();
  await deploy(w, 'v42');
  await pass(w, 12 * HOUR);
  expect(resumes(w)).toEqual({ invoice: 1, report: 1 });
  expect(await halts(w)).toEqual([
    'not fixed by v42: the canary failed: 1 of 1',
    'not fixed by v42: the canary failed: 1 of 1',
  ]);
  const told = w.engine.conditions().filter(({ key }) => key.startsWith('halted/'));
  expect(told).toHaveLength(2);
  await deploy(w, 'v43');
  await pass(w, HOUR);
  expect(resumes(w)).toEqual({ invoice: 2, report: 2 });
  await deploy(w, 'v44');
  w.fixed.add(INVOICE).add(REPORT);
  await pass(w, 6 * HOUR);
  expect(left(w)).toBe(0);
  expect(isEachOnce(w)).toBe(true);
});

test('a deploy soon after another one is tried as soon as its wait is over', async () => {
  const w = stage();
  await deploy(w, 'v42');
  await pass(w, 2 * MINUTE + 45_000);
  await deploy(w, 'v43');
  await pass(w, 2 * MINUTE + 15_000);
  expect(resumes(w)).toEqual({ invoice: 2, report: 2 });
});

test('a half fix drains the fixed workflow, and halts the other one after a canary', async () => {
  const w = stage();
  await deploy(w, 'v42');
  w.fixed.add(INVOICE);
  await pass(w, 3 * HOUR);
  expect(resumes(w)).toEqual({ invoice: COUNT, report: 1 });
  expect(left(w)).toBe(COUNT);
});

test('the deploy of another service resumes nothing', async () => {
  const w = stage();
  w.fixed.add(INVOICE).add(REPORT);
  await deploy(w, 'v42', { of: ['https://other.example.com/', `${APP}invoices`] });
  await pass(w, HOUR);
  expect(resumes(w)).toEqual({ invoice: 0, report: 0 });
  await deploy(w, 'v42', { of: [INVOICE] });
  await pass(w, 3 * HOUR);
  expect(resumes(w)).toEqual({ invoice: COUNT, report: 0 });
});

test('a deploy never touches what failed after it', async () => {
  const w = stage();
  await deploy(w, 'v42');
  w.fixed.add(INVOICE).add(REPORT);
  for (const at of [0, 1, 90_000]) w.dlq.add({ workflowUrl: INVOICE, createdAt: START + at });
  await pass(w, 3 * HOUR);
  expect(resumes(w)).toEqual({ invoice: COUNT, report: COUNT });
  expect([...w.dlq.entries.values()].map(({ createdAt }) => createdAt - START)).toEqual([0, 1, 90_000]);
});

test('failures just before the deploy do not hold the canary', async () => {
  const w = stage();
  // Many new failures, and a failing destination until the deploy.
  for (let index = 0; index < 100; index += 1) w.dlq.add({ workflowUrl: INVOICE, createdAt: START - 1_000 - index });
  w.facts = { deliveries: (_account, _host, ms) => (ms > 5 * MINUTE ? { delivered: 0, all: 100 } : undefined) };
  await deploy(w, 'v42');
  w.fixed.add(INVOICE).add(REPORT);
  await pass(w, 4 * MINUTE);
  expect(resumes(w)).toEqual({ invoice: 1, report: 1 });
});

test('a second deploy during a campaign begins again with a canary', async () => {
  const w = stage();
  await deploy(w, 'v42');
  w.fixed.add(INVOICE).add(REPORT);
  await untilFour(w);
  const before = resumes(w)['invoice']!;
  await deploy(w, 'v43');
  w.fixed.clear();
  await pass(w, 2 * HOUR);
  expect(resumes(w)['invoice']).toBe(before + 1);
  expect(await halts(w)).toContain('not fixed by v43: the canary failed: 1 of 1');
});

test.each([
  ['that failed', { version: 'v43', failed: true }],
  ['to an earlier version', { version: 'v41', failed: false }],
])('a roll-back %s halts the campaign, and the next deploy goes on', async (_what, { version, failed }) => {
  const w = stage();
  await deploy(w, 'v41', { at: START - HOUR });
  await deploy(w, 'v42');
  w.fixed.add(INVOICE).add(REPORT);
  await untilFour(w);
  const { deploy: stored } = await deploy(w, version, { failed });
  expect(stored.isRollback).toBe(true);
  const before = resumes(w);
  await pass(w, 3 * HOUR);
  expect(resumes(w)).toEqual(before);
  await deploy(w, 'v44');
  await pass(w, 4 * HOUR);
  expect(left(w)).toBe(0);
  expect(isEachOnce(w)).toBe(true);
});

test('a roll-back in the middle of a step ends it', async () => {
  const w = stage({ policy: { ramp: { start: 50, max: 50 } } });
  w.facts = { deliveries: () => ({ delivered: 100, all: 100 }) };
  w.fixed.add(INVOICE).add(REPORT);
  await deploy(w, 'v42');
  w.dlq.onResume = async () => {
    if (w.dlq.sent.length === 5) await deploy(w, 'v42', { at: w.clock.now(), failed: true });
  };
  await pass(w, 2 * HOUR);
  expect(w.dlq.sent.length).toBeLessThanOrEqual(6);
});

test('a redeploy of the newest version is no roll-back', async () => {
  const w = stage();
  await deploy(w, 'v42', { at: START - HOUR });
  const { deploy: again } = await deploy(w, 'v42');
  expect(again.isRollback).toBe(false);
});

test('a repeated report is one deploy, and starts one run', async () => {
  const w = stage();
  const [first, second] = [await deploy(w, 'v42'), await deploy(w, 'v42', { at: START })];
  expect([first.isNew, second.isNew, second.deploy.id]).toEqual([true, false, first.deploy.id]);
});

describe('a deploy while the policy is held', () => {
  const holds: readonly [string, (w: World) => unknown, (w: World) => unknown][] = [
    ['paused', (w) => w.engine.pause({ reason: 'r', by: 'kim' }), (w) => w.engine.unpause({ reason: 'r', by: 'kim' })],
    ['stopped by the kill switch', (w) => void (w.pause = 'PAUSE exists'), (w) => void (w.pause = undefined)],
  ];
  test.each(holds)('%s is remembered until the hold ends', async (_what, hold, release) => {
    const w = stage();
    await hold(w);
    await deploy(w, 'v42');
    w.fixed.add(INVOICE).add(REPORT);
    await pass(w, 2 * HOUR);
    expect(resumes(w)).toEqual({ invoice: 0, report: 0 });
    await release(w);
    await pass(w, 3 * HOUR);
    expect(left(w)).toBe(0);
  });

  test('in mode approve makes one plan, and acts after the approval', async () => {
    const w = stage({ policy: { mode: 'approve' } });
    await deploy(w, 'v42');
    w.fixed.add(INVOICE).add(REPORT);
    await pass(w, 10 * MINUTE);
    expect(resumes(w)).toEqual({ invoice: 0, report: 0 });
    const [plan, ...others] = await w.ledger.storedPlans(['pending'], w.clock.now());
    expect(others).toEqual([]);
    await w.engine.approve(plan!.plan.id, { by: 'kim' });
    await pass(w, MINUTE);
    expect(resumes(w)).toEqual({ invoice: 1, report: 1 });
  });
});
