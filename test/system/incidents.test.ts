/**
 * The incidents that justified every default, against the embedded service in virtual time. A changed default has to
 * pass them again.
 */
import { expect, test } from 'vitest';
import { fourLines, outageOf, steps } from './incident-outage.ts';
import { HOST, HOUR, incidentStage } from './incident-stage.ts';
import { policyOf } from '../support/policies.ts';

test('a destination is down for two hours, 1,500 runs fail, and it is repaired', async () => {
  await expect(outageOf(1_500)).resolves.toBeUndefined();
});

test('a bad deploy makes every resumed run of one workflow fail', async () => {
  const stage = await incidentStage({
    policies: [fourLines('resume-billing')],
    async minute({ send }) {
      for (let i = 0; i < 10; i++) await send('/events');
    },
  });
  const { destinations } = stage.emulator;
  await destinations.script(`${HOST}/events`, [{ status: 200, times: 1_000_000 }]);
  await destinations.script(`${HOST}/a`, [{ status: 503, times: 1_000_000 }]);
  await destinations.script(`${HOST}/b`, [
    { status: 503, times: 20 },
    { status: 200, times: 1_000_000 },
  ]);
  for (let i = 0; i < 20; i++) {
    await stage.start('/a', { 'Svc-Label': 'billing' });
    await stage.start('/b', { 'Svc-Label': 'billing' });
  }
  await stage.run(180);
  // The broken workflow loses one canary in each interval of the breaker.
  expect((await steps(stage, '/a')).every((size) => size === 1)).toBe(true);
  expect((await steps(stage, '/a')).length).toBeLessThanOrEqual(3);
  // The condition names the group and the reason.
  expect(stage.engine.conditions()).toContainEqual(
    expect.objectContaining({
      key: `halted/resume-billing/https://${HOST}/a`,
      policy: 'resume-billing',
      group: `https://${HOST}/a`,
      detail: expect.stringContaining('failed') as string,
    }),
  );
  // The other workflow of the policy was never stopped.
  expect((await steps(stage, '/b')).reduce((sum, size) => sum + size, 0)).toBe(20);
  expect(stage.emulator.workflowDlq('acc-1').map(({ url }) => url)).toEqual(Array(20).fill(`https://${HOST}/a`));

  await destinations.script(`${HOST}/a`, [{ status: 200, times: 1_000_000 }]);
  await stage.run(8 * 60, () => stage.emulator.workflowDlq('acc-1').length === 0);
  expect(stage.emulator.workflowDlq('acc-1')).toEqual([]);
  expect(stage.engine.conditions()).toEqual([]);
});

test('a loop burns the budget at five times the usual rate', async () => {
  const stage = await incidentStage({
    budgetUsd: 60,
    policies: [
      fourLines('resume-billing'),
      policyOf('budget.raise', {
        name: 'raise-budget',
        account: 'acc-1',
        mode: 'enforce',
        every: '15m',
        where: 'spend.hoursLeft < 24.0 || spend.monthUsd >= 0.85 * double(budget.knownUsd)',
      }),
    ],
    past(emulator, now) {
      // Three dollars a day for two weeks, and fifteen in the last one.
      for (let hour = 14 * 24; hour > 0; hour--) {
        const fact = {
          kind: 'attempt',
          at: now - hour * HOUR,
          workflow: false,
          outcome: 'delivered',
          bytes: 0,
        } as const;
        emulator.statistics.record('acc-1', fact, hour > 24 ? 12_500 : 62_500);
      }
    },
    async minute({ send }) {
      for (let i = 0; i < 10; i++) await send('/events');
    },
  });
  const { destinations } = stage.emulator;
  await destinations.script(`${HOST}/events`, [{ status: 200, times: 1_000_000 }]);
  await destinations.script(`${HOST}/loop`, [{ status: 503, times: 1_000_000 }]);
  for (let i = 0; i < 10; i++) await stage.start('/loop', { 'Svc-Label': 'billing' });
  await stage.run(60);

  // Neither raised nor held silently: the plan waits for approval, with the remaining hours at this rate.
  const budget = () => stage.ledger.raises('acc-1', 0);
  expect(await budget()).toEqual([]);
  const [pending] = await stage.ledger.storedPlans(['pending'], stage.now());
  expect(pending?.plan).toMatchObject({ policy: 'raise-budget', chosen: [{ fromUsd: 60 }] });
  const { reason } = pending!.plan.needsApproval!;
  expect(reason).toContain('at most 2.5 times the usual');
  const hours = Number(/([\d.]+) hours left/.exec(reason)![1]);
  expect(hours).toBeGreaterThan(2);
  expect(hours).toBeLessThan(14);
  const keys = stage.engine.conditions().map(({ key }) => key);
  expect(keys).toContain('approval/raise-budget');
  // The policy that resumes into the loop was halted, so it cannot burn the budget.
  expect(keys).toContain(`halted/resume-billing/https://${HOST}/loop`);
  expect(
    (await stage.resumes()).filter(({ proposal }) => proposal.action === 'workflow-dlq.resume').length,
  ).toBeLessThanOrEqual(2);

  await stage.engine.approve(pending!.plan.id, { by: 'tom', reason: 'it is the campaign of the year' });
  await stage.run(16, async () => (await budget()).length > 0);
  expect(await budget()).toMatchObject([
    { fromUsd: 60, toUsd: pending!.plan.chosen.flatMap((act) => ('toUsd' in act ? [act.toUsd] : []))[0] },
  ]);
});
