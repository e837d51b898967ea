/** Caps over several replicas, whose clocks differ as much as the guard of the clock allows. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { capLimits } from '#automate/engine/decide/caps.ts';
import { engineSettings } from '#automate/policies/settings.ts';
import { memoryLedger } from '#storage/memory-ledger.ts';
import { planOf, resumeOf } from '../../support/ledger-facts.ts';
import { HOUR, MINUTE, NOTHING_KNOWN, policyOf, START } from './world.ts';

const attempt = fc.record({
  replica: fc.nat(3),
  // Around the end of a window, where the clocks matter.
  afterMs: fc.oneof(fc.integer({ min: 0, max: MINUTE }), fc.integer({ min: 57 * MINUTE, max: HOUR })),
  items: fc.integer({ min: 1, max: 3 }),
});

test('no hour has more actions than the cap of the engine', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: -MINUTE, max: MINUTE }), { minLength: 2, maxLength: 4 }),
      fc.array(attempt, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 3, max: 6 }),
      async (skews, attempts, perHour) => {
        const ledger = memoryLedger();
        const settings = engineSettings.parse({ caps: { perHour } });
        const shared = { name: 'opsd-0', isLeader: false, allPolicies: new Set<string>(), hasLost: () => false };
        const deps = { settings, facts: NOTHING_KNOWN, accounts: new Map(), shared };
        const taken: { readonly at: number; readonly items: number }[] = [];
        let now = START;
        for (const [number, { replica, afterMs, items }] of attempts.entries()) {
          now += afterMs;
          const owner = replica % skews.length;
          const of = { policy: `repair-${owner}`, account: `account-${owner}` };
          const local = now + skews[owner]!;
          const limits = capLimits(policyOf({ name: of.policy, account: of.account }), local, deps);
          const run = await ledger.beginRun(planOf(of), local);
          const reserved = await ledger.reserve(run, resumeOf(`dlq-${number}`, { ...of, items }), local, limits);
          if (reserved.ok) taken.push({ at: now, items });
          const inHour = taken.filter(({ at }) => at > now - HOUR).reduce((sum, one) => sum + one.items, 0);
          expect(inHour).toBeLessThanOrEqual(perHour);
        }
      },
    ),
    { numRuns: 100 },
  );
});
