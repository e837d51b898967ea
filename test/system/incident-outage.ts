/** A long outage in virtual time, and the campaign of the policy with all settings by default. */
import { expect } from 'vitest';
import { policyOf } from '../support/policies.ts';
import { HOST, HOUR, incidentStage, MINUTE, type IncidentStage } from './incident-stage.ts';

/** A policy of four lines, as in the documentation, with all other settings by default. */
export function fourLines(name: string, over: Readonly<Record<string, unknown>> = {}) {
  return policyOf('workflow-dlq.resume', {
    name,
    account: 'acc-1',
    mode: 'enforce',
    select: { resource: 'workflow-dlq', anyLabel: ['billing'] },
    ...over,
  });
}

/** Returns the sizes of a group's steps, in their order. */
export async function steps(stage: IncidentStage, path: string): Promise<number[]> {
  const sizes = new Map<string, number>();
  for (const { proposal } of await stage.resumes()) {
    if (proposal.action !== 'workflow-dlq.resume' || !proposal.workflowUrl.endsWith(path)) continue;
    const key = `${proposal.campaign!.id} ${proposal.campaign!.step}`;
    sizes.set(key, (sizes.get(key) ?? 0) + 1);
  }
  return [...sizes.values()];
}

/** A destination is down for two hours, runs fail, and it is repaired. */
export async function outageOf(runs: number): Promise<void> {
  let isDown = true;
  let failed = 0;
  const stage = await incidentStage({
    policies: [fourLines('resume-billing')],
    async minute({ start, send }) {
      if (isDown)
        for (let i = 0; i < runs / 119 && failed < runs; i++, failed++)
          await start('/invoice', { 'Svc-Label': 'billing' });
      // The other traffic of the host.
      for (let i = 0; i < 5; i++) await send('/events');
    },
  });
  await stage.emulator.destinations.script(HOST, [{ status: 503, times: 1_000_000 }]);
  await stage.run(120);
  expect(failed).toBe(runs);
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
}
