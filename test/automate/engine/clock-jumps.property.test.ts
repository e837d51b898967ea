/**
 * Random sequences of clock jumps, restarts and responses with the correct time. No window's cap is exceeded in the
 * service's time, and no month gets more raises than allowed.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { startOfMonth, monthOf } from '#foundation/domain/utc-month.ts';
import { GUARDS } from '#automate/guardrails/index.ts';
import { EventBus } from '#foundation/events/events.ts';
import { VerifiedClock } from '#foundation/events/verified-clock.ts';
import { policyOf } from '../../support/policies.ts';
import { stepsOf } from './random-steps.ts';
import { HOUR, MINUTE, NEVER, REQUEST, START, world, WITHOUT_RAMP, policyOf as resumes } from './world.ts';

const DAY = 24 * HOUR;
const SECOND = 1_000;

const jump = fc.oneof(
  fc.integer({ min: -2 * MINUTE, max: 2 * MINUTE }),
  fc.integer({ min: -62 * DAY, max: 62 * DAY }),
  fc.constantFrom(HOUR, -HOUR, DAY, -DAY, 31 * DAY),
);
const step = stepsOf({
  run: 4,
  answer: 4,
  restart: 1,
  wait: [3, { ms: fc.oneof(fc.nat(2 * HOUR), fc.constantFrom(SECOND, MINUTE, HOUR, DAY, 20 * DAY)) }],
  jump: [3, { ms: jump }],
  // Sets the local clock to the correct time, within the tolerance.
  set: [3, { off: fc.integer({ min: -59, max: 59 }) }],
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A world whose local clock jumps. The service's time is real elapsed time. */
function jumping(options: Parameters<typeof world>[0]) {
  const w = world(options);
  const events = new EventBus();
  let clock = new VerifiedClock(w.clock, events);
  const served = (): number => START + w.clock.monotonic();
  const facts = { ...w.facts };
  const begin = (): void => {
    clock = new VerifiedClock(w.clock, events);
    w.facts = { ...facts, clockSkewMs: (account) => clock.skewMs(account), steadySince: () => clock.steadySince };
    w.restart({ clock });
  };
  begin();
  async function take(action: Step, policy: string): Promise<void> {
    switch (action.do) {
      case 'jump':
        w.clock.jump(action.ms);
        break;
      case 'set':
        w.clock.jump(served() - w.clock.now() + action.off * SECOND);
        break;
      case 'wait':
        await w.clock.advance(action.ms);
        break;
      case 'restart':
        begin();
        break;
      case 'answer': {
        // A Date has whole seconds.
        const skew = w.clock.now() - Math.floor(served() / SECOND) * SECOND;
        events.emit({ ...REQUEST, code: 200, clockSkewMs: skew });
        break;
      }
      case 'run':
        await w.engine.run(policy, NEVER);
    }
  }
  return { w, served, take, now: () => clock.now() };
}

test('no cap of an hour or a day is exceeded in the time of the service', async () => {
  const caps = { perHour: 3, perDay: 5 };
  let acted = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
      const policy = resumes({ limits: { maxPerHour: caps.perHour, maxPerDay: caps.perDay, maxPerRun: 2 } });
      const { w, served, take } = jumping({ policies: [policy], guards: WITHOUT_RAMP });
      for (let i = 0; i < 30; i++) w.dlq.add();
      const sent: number[] = [];
      w.dlq.onResume = () => void sent.push(served());
      for (const action of steps) await take(action, 'resume-billing');
      for (const at of sent) {
        expect(sent.filter((other) => other >= at && other < at + HOUR).length).toBeLessThanOrEqual(caps.perHour);
        expect(sent.filter((other) => other >= at && other < at + DAY).length).toBeLessThanOrEqual(caps.perDay);
      }
      acted += sent.length;
    }),
    { numRuns: 150 },
  );
  expect(acted).toBeGreaterThan(100);
});

test('no month gets more raises than allowed in the time of the service', async () => {
  const raise = policyOf('budget.raise', {
    name: 'raise',
    account: 'production',
    mode: 'enforce',
    limits: { maxPerMonth: 1, minInterval: '1h' },
  });
  // One reading is enough here, so only the month limits the raises.
  const guards = GUARDS.filter(({ name }) => name !== 'confirmation');
  let raised = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
      const { w, served, take, now } = jumping({ policies: [raise], guards });
      const spend = { monthUsd: 90, last24hUsd: 5, medianDayUsd: 4, hoursLeft: 10, fresh: true };
      w.facts = {
        ...w.facts,
        budget: () => ({
          spend: { ...spend, at: now() },
          known: { knownUsd: 100, origin: 'configuration', assertedAt: now(), maxAgeMs: 45 * DAY },
        }),
      };
      const at: number[] = [];
      for (const action of steps) {
        const before = w.dlq.budgets.length;
        await take(action, 'raise');
        if (w.dlq.budgets.length > before) at.push(served());
      }
      const months = Map.groupBy(at, (time) => startOfMonth(monthOf(time)));
      for (const [month, raises] of months) expect(raises.length, new Date(month).toISOString()).toBe(1);
      raised += at.length;
    }),
    { numRuns: 150 },
  );
  expect(raised).toBeGreaterThan(20);
});
