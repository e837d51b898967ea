/**
 * The incidents that justified every default, against the embedded service in virtual time. A changed default has to
 * pass them again.
 */
import { expect, test } from 'vitest';
import { HOST, HOUR, incidentStage, MINUTE, type IncidentStage } from './incident-stage.ts';
import { policyOf } from '../support/policies.ts';

/** A limit on hanging: the stories take a minute of CPU time. */
const LONG = 900_000;

/** A policy of four lines, as in the documentation, with all other settings by default. */
function fourLines(name: string, over: Readonly<Record<string, unknown>> = {}) {
  return policyOf('workflow-dlq.resume', {
    name,
    account: 'acc-1',
    mode: 'enforce',
    select: { resource: 'workflow-dlq', anyLabel: ['billing'] },
    ...over,
  });
}

/** Returns the sizes of a group's steps, in their order. */
async function steps(stage: IncidentStage, path: string): Promise<number[]> {
  const sizes = new Map<string, number>();
  for (const { proposal } of await stage.resumes()) {
    if (proposal.action !== 'workflow-dlq.resume' || !proposal.workflowUrl.endsWith(path)) continue;
    const key = `${proposal.campaign!.id} ${proposal.campaign!.step}`;
    sizes.set(key, (sizes.get(key) ?? 0) + 1);
  }
  return [...sizes.values()];
}

test(
  'a destination is down for two hours, 5,000 runs fail, and it is repaired',
  async () => {
    let isDown = true;
    let failed = 0;
    const stage = await incidentStage({
      policies: [fourLines('resume-billing')],
      async minute({ start, send }) {
        if (isDown)
          for (let i = 0; i < 42 && failed < 5_000; i++, failed++) await start('/invoice', { 'Svc-Label': 'billing' });
        // The other traffic of the host.
        for (let i = 0; i < 5; i++) await send('/events');
      },
    });
    await stage.emulator.destinations.script(HOST, [{ status: 503, times: 1_000_000 }]);
    await stage.run(120);
    expect(failed).toBe(5_000);
    // During the outage nothing or a single canary is sent, with the reason.
    expect((await stage.resumes()).length).toBeLessThanOrEqual(3);
    const held = stage.engine.conditions().find(({ key }) => key === 'held/resume-billing');
    expect(['destination', 'arrivals', 'ramp']).toContain(held?.guard);

    isDown = false;
    await stage.emulator.destinations.script(HOST, [{ status: 200, times: 1_000_000 }]);
    const repairedAt = stage.now();
    const before = (await stage.resumes()).length;
    const verifiedAfter = async () =>
      (await stage.resumes()).slice(before).find(({ outcome }) => outcome === 'accepted' || outcome === 'verified')?.at;
    await stage.run(16, async () => (await verifiedAfter()) !== undefined);
    expect((await verifiedAfter())! - repairedAt).toBeLessThanOrEqual(15 * MINUTE);

    await stage.run(180, () => stage.emulator.workflowDlq('acc-1').length === 0);
    expect(stage.emulator.workflowDlq('acc-1')).toEqual([]);
    expect((stage.now() - repairedAt) / HOUR).toBeLessThanOrEqual(2.1);
    const sizes = await steps(stage, '/invoice');
    expect(sizes.slice(sizes.indexOf(3) - 1, sizes.indexOf(3) + 7)).toEqual([1, 3, 9, 27, 81, 243, 500, 500]);
    // No run was resumed twice, and the destination saw at most the rate of the flow control.
    expect(new Set((await stage.resumes()).map(({ proposal }) => proposal.target)).size).toBe(
      (await stage.resumes()).length,
    );
  },
  LONG,
);

test(
  'a bad deploy makes every resumed run of one workflow fail',
  async () => {
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
  },
  LONG,
);

test(
  'a loop burns the budget at five times the usual rate',
  async () => {
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
  },
  LONG,
);
