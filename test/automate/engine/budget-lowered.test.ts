/**
 * A raise sets an absolute amount that no operation reads. These tests check that the daemon never lowers a budget with
 * it.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BudgetAssertion } from '#foundation/domain/known-budget.ts';
import { createFacts } from '#automate/engine/facts/facts.ts';
import { GUARDS } from '#automate/guardrails/index.ts';
import { ResumeEnds } from '#observe/observations/resume-ends.ts';
import { RecentAttempts } from '#observe/observations/recent-attempts.ts';
import { EventBus } from '#foundation/events/events.ts';
import { VerifiedClock } from '#foundation/events/verified-clock.ts';
import { memoryLedger } from '#storage/memory-ledger.ts';
import { policyOf } from '../../support/policies.ts';
import { stepsOf } from './random-steps.ts';
import { HOUR, MINUTE, NEVER, REQUEST, type World, world } from './world.ts';

const DAY = 24 * HOUR;
const RAISE = policyOf('budget.raise', {
  name: 'raise',
  account: 'production',
  mode: 'enforce',
  action: { step: { percent: 20, roundUpTo: 10 }, ceilingUsd: 10_000 },
});

/** An account whose budget is not readable, and a daemon that knows only the configuration and the store. */
function account(budgetUsd: number) {
  const w = world({ policies: [RAISE], guards: GUARDS });
  const events = new EventBus();
  let name = 'acc-1';
  let actual = budgetUsd;
  let asserted: BudgetAssertion | undefined;
  let { ledger } = w;
  w.board.register({
    account: 'production',
    collector: 'accountStats',
    schedule: '',
    intervalMs: MINUTE,
    maxStalenessMs: HOUR,
  });
  function begin(): void {
    const clock = new VerifiedClock(w.clock, events);
    events.emit({ ...REQUEST, code: 200, clockSkewMs: 0 });
    const known = createFacts({
      board: w.board,
      attempts: new RecentAttempts(clock),
      resumeEnds: new ResumeEnds(),
      ledger,
      events,
      clock,
      accounts: [{ name: 'production', limits: {}, budget: asserted }],
    });
    w.facts = { budget: (of) => known.budget(of) };
    w.restart({ ledger, clock, accounts: new Map([['production', { mode: 'enforce', accountId: name }]]) });
  }
  const made = {
    w,
    ledger: () => ledger,
    actual: () => actual,
    begin,
    /** Asserts an amount on a day. */
    assert(knownUsd: number, on: number): void {
      asserted = { knownUsd, assertedOn: Math.floor(on / DAY) * DAY, maxAge: 45 * DAY };
      begin();
    },
    /** Removes the store and its audit log. */
    loseStore(): void {
      ledger = memoryLedger();
      begin();
    },
    anotherAccount(id: string): void {
      name = id;
      begin();
    },
    setInConsole: (usd: number): void => void (actual = usd),
    async read(): Promise<void> {
      const spend = { monthUsd: 20, paceUsd: 1_000_000, last24hUsd: 5, medianDayUsd: 5 };
      const batch = { account: 'production', collector: 'accountStats', at: w.clock.now(), dropped: 0 } as const;
      w.board.publish({ ...batch, rows: [{ spend }] }, 1);
      await w.engine.run('raise', NEVER);
    },
    /**
     * Provides two readings that require a raise, after a day.
     *
     * @returns the amounts that were sent
     */
    async raise(): Promise<readonly number[]> {
      const before = w.dlq.budgets.length;
      await w.engine.settle(NEVER);
      await w.clock.advance(DAY);
      for (let i = 0; i < 2; i++) {
        await w.engine.settle(NEVER);
        await made.read();
        await w.clock.advance(16 * MINUTE);
      }
      const sent = w.dlq.budgets.slice(before);
      for (const usd of sent) actual = usd;
      return sent;
    },
  };
  return made;
}

/** An account that the store has watched for two days, with an assertion of today. */
async function watched(budgetUsd = 100) {
  const a = account(budgetUsd);
  a.begin();
  await a.w.engine.settle(NEVER);
  await a.w.clock.advance(2 * DAY);
  a.assert(budgetUsd, a.w.clock.now());
  return a;
}

function held(w: World): string {
  const { outcome, stopped } = w.lastRun();
  return `${outcome}: ${stopped?.guard}: ${stopped?.reason}`;
}

async function pending(w: World, ledger = w.ledger) {
  return (await ledger.storedPlans(['pending'], w.clock.now()))[0]?.plan;
}

describe('a store that does not know all raises', () => {
  test('does not raise on an older assertion, after the loss of store and audit log', async () => {
    const a = await watched();
    expect(await a.raise()).toEqual([120]);
    expect(await a.raise()).toEqual([150]);
    a.loseStore();
    expect(await a.raise()).toEqual([]);
    expect(held(a.w)).toMatch(/^held: known_budget: the assertion is too old: this store has .* set budget.knownUsd/);
    await a.w.clock.advance(DAY);
    a.assert(150, a.w.clock.now());
    expect(await a.raise()).toEqual([180]);
  });

  test('requests approval when the assertion is from the day on which the store was created', async () => {
    const a = await watched();
    expect(await a.raise()).toEqual([120]);
    a.loseStore();
    a.assert(100, a.w.clock.now());
    expect(await a.raise()).toEqual([]);
    expect((await pending(a.w, a.ledger()))?.needsApproval).toMatchObject({
      guard: 'known_budget',
      reason: expect.stringContaining('the assertion may be too old') as string,
    });
  });

  test('does not raise before it knows the start of its observation of the account', async () => {
    const a = account(100);
    a.assert(100, a.w.clock.now());
    await a.w.engine.run('raise', NEVER);
    expect(held(a.w)).toContain('known_budget');
    expect(a.w.dlq.budgets).toEqual([]);
  });

  test('does not attribute the raises of one account to another with the same name', async () => {
    const a = await watched();
    expect(await a.raise()).toEqual([120]);
    a.setInConsole(500);
    a.anotherAccount('acc-2');
    expect(await a.raise()).toEqual([]);
    expect(held(a.w)).toContain('the last raise is too old');
  });

  test('does not restart for a known account', async () => {
    const a = await watched();
    const since = await a.ledger().accountSince('production');
    a.anotherAccount('acc-1');
    await a.w.engine.settle(NEVER);
    expect(await a.ledger().accountSince('production')).toBe(since);
  });

  test('does not record an account by a wrong local clock', async () => {
    const a = account(100);
    a.begin();
    a.w.facts = { ...a.w.facts, clockSkewMs: () => 2 * MINUTE };
    await a.w.engine.settle(NEVER);
    expect(await a.ledger().accountSince('production')).toBeUndefined();
  });
});

describe('a possibly outdated amount', () => {
  test('requires approval when the assertion is older than a week and nothing was raised since', async () => {
    const a = await watched();
    a.setInConsole(300);
    await a.w.clock.advance(6 * DAY);
    expect(await a.raise()).toEqual([]);
    const plan = (await pending(a.w))!;
    expect(plan).toMatchObject({
      needsApproval: { guard: 'known_budget', measured: 'the assertion is more than 7 days old, with no raise since' },
      notes: expect.arrayContaining([
        'The request sets the budget to $120, whatever its current value: a higher budget set elsewhere would be lowered.',
      ]) as string[],
    });
    expect(a.w.engine.conditions().find(({ key }) => key === 'approval/raise')?.detail).toContain(
      'The request sets the budget to $120, whatever its current value',
    );
  });

  test('requires none when this store has raised since', async () => {
    const a = await watched();
    expect(await a.raise()).toEqual([120]);
    await a.w.clock.advance(20 * DAY);
    expect(await a.raise()).toEqual([150]);
  });

  test('is not sent when the assertion was edited without its day', async () => {
    const a = await watched();
    const day = a.w.clock.now();
    expect(await a.raise()).toEqual([120]);
    await a.w.clock.advance(2 * DAY);
    a.setInConsole(300);
    a.assert(300, day);
    expect(await a.raise()).toEqual([]);
    expect(held(a.w)).toContain('the configuration has $300, which matches no raise since then');
  });

  test('is not sent for a day that has not begun in any time zone', async () => {
    const a = await watched();
    a.assert(100, a.w.clock.now() + 3 * DAY);
    expect(await a.raise()).toEqual([]);
    expect(held(a.w)).toContain('the budget is asserted for a day that has not begun');
  });

  test('is sent within an hour of its approval, and not later', async () => {
    for (const [minutes, sent] of [
      [59, [120]],
      [60, []],
    ] as const) {
      const a = await watched();
      await a.w.clock.advance(7 * DAY);
      expect(await a.raise()).toEqual([]);
      const { id } = (await pending(a.w))!;
      expect(await a.w.engine.approve(id, { by: 'tom' })).toMatchObject({ ok: true });
      await a.w.clock.advance(minutes * MINUTE);
      await a.read();
      expect(a.w.dlq.budgets).toEqual(sent);
    }
  });

  test('is not sent when another raise was made since the plan', async () => {
    const a = await watched();
    const { facts } = a.w;
    // The second run is recorded between plan and request.
    const isPlanned = async (): Promise<boolean> => (await a.ledger().runs({ limit: 9 })).length === 2;
    a.w.facts = {
      async budget(of) {
        const { known, ...found } = await facts.budget!(of);
        return { ...found, known: { ...known!, knownUsd: (await isPlanned()) ? 150 : 100 } };
      },
    };
    expect(await a.raise()).toEqual([]);
    expect(a.w.lastRun()).toMatchObject({ matched: 1, acted: 0 });
  });
});

const step = stepsOf({
  raise: 10,
  lose: 4,
  other_account: 4,
  console: 2,
  assert: [6, { zone: fc.integer({ min: -12, max: 14 }) }],
  wait: [6, { hours: fc.nat(60) }],
});

test('no budget is lowered, whatever is lost, if every console edit is asserted with its day', async () => {
  let raised = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const a = await watched();
      let accounts = 1;
      for (const action of steps) {
        const before = a.actual();
        switch (action.do) {
          case 'raise': {
            const sent = await a.raise();
            expect(sent.every((usd) => usd > before)).toBe(true);
            raised += sent.length;
            break;
          }
          case 'lose':
            a.loseStore();
            break;
          case 'other_account':
            accounts++;
            a.setInConsole(before + 200);
            a.anotherAccount(`acc-${accounts}`);
            break;
          case 'console':
            // The operator asserts it at once, by the day of the operator's time zone.
            a.setInConsole(before + 50);
            a.assert(before + 50, a.w.clock.now());
            break;
          case 'assert':
            a.assert(before, a.w.clock.now() + action.zone * HOUR);
            break;
          case 'wait':
            await a.w.clock.advance(action.hours * HOUR);
        }
      }
    }),
    { numRuns: 100 },
  );
  expect(raised).toBeGreaterThan(50);
});
