/** The first two minutes of a newcomer: the printed address signs in, then an outage, an approval, the fix and a drain. */
import { expect, test } from 'vitest';
import { clockedOpsd } from '../support/program.ts';
import { until } from '../support/until.ts';

interface Incident {
  readonly id: string;
  readonly state: string;
  readonly reason: string;
  readonly members: { readonly now: number; readonly ever: number };
  readonly story: readonly { readonly mark: string; readonly text: string }[];
}

test('a newcomer signs in, breaks the invoices, approves, deploys the fix, and sees the queue drain', async () => {
  const demo = clockedOpsd({ speed: 2, since: Date.now() }, ['demo', '--listen', '127.0.0.1:0', '--seed', '7']);
  const address = await until({ what: 'the address is printed' }, () => /^Open (\S+)$/m.exec(demo.stdout())?.[1]);
  const { origin, searchParams } = new URL(address);
  const ask = async <T>(path: string): Promise<T> => (await (await fetch(`${origin}/api/v1/${path}`)).json()) as T;
  const signedIn = await fetch(address);
  const [cookie = ''] = (signedIn.headers.get('set-cookie') ?? '').split(';');
  expect((await fetch(address)).status).toBe(401);
  const page = await (await fetch(origin, { headers: { cookie, accept: 'text/html' } })).text();
  const csrf = /name="csrf" value="(\w+)"/.exec(page)![1]!;
  const post = async (path: string, fields: Readonly<Record<string, string>> = {}): Promise<number> => {
    const body = new URLSearchParams({ csrf, ...fields });
    return (await fetch(`${origin}${path}`, { method: 'POST', headers: { cookie }, body, redirect: 'manual' })).status;
  };

  expect(await post('/tour/break')).toBe(303);
  const incident = await until({ what: 'an incident of several runs' }, async () =>
    (await ask<{ incidents: readonly Incident[] }>('incidents')).incidents.find(
      ({ reason, members }) => reason.includes('the ledger is not available') && members.now >= 3,
    ),
  );
  await until({ what: 'the repair halts' }, async () =>
    (await ask<{ conditions: readonly { key: string }[] }>('conditions')).conditions.some(({ key }) =>
      key.startsWith('halted/resume-billing/'),
    ),
  );
  const plan = await until({ what: 'a plan waits' }, async () =>
    (await ask<{ plans: readonly { id: string; policy: string }[] }>('plans?state=pending')).plans.find(
      ({ policy }) => policy === 'resume-onboarding',
    ),
  );
  expect(await post(`/plans/${plan.id}`, { act: 'approve', reason: 'looks right' })).toBe(303);
  const permanent = await until({ what: 'runs that no clock repairs' }, async () =>
    (await ask<{ incidents: readonly Incident[] }>('incidents')).incidents.find(
      ({ reason, members }) => reason.includes('currency EUR is not known') && members.now >= 3,
    ),
  );
  const resumed = async () =>
    (await ask<{ actions: readonly { policy: string; outcome?: string }[] }>('actions?limit=500')).actions.filter(
      ({ policy }) => policy === 'resume-after-deploy',
    );
  expect(await resumed()).toEqual([]);
  expect(await post('/tour/mend')).toBe(303);
  expect(await post('/tour/mend')).toBe(404);

  await until({ what: 'the approved run is repaired' }, async () =>
    (await ask<{ actions: readonly { policy: string; outcome?: string }[] }>('actions?limit=500')).actions.some(
      ({ policy, outcome }) => policy === 'resume-onboarding' && outcome === 'verified',
    ),
  );
  for (const { id } of [incident, permanent]) {
    await until({ what: 'the queue has drained' }, async () => {
      const now = (await ask<{ incident: Incident }>(`incidents/${id}`)).incident;
      return now.members.now === 0 && now.members.ever >= 3;
    });
  }
  // A canary, then the others; each once.
  await until({ what: 'all are verified' }, async () => {
    const outcomes = (await resumed()).map(({ outcome }) => outcome);
    return outcomes.length >= 3 && outcomes.every((outcome) => outcome === 'verified');
  });
  const { story } = (await ask<{ incident: Incident }>(`incidents/${permanent.id}`)).incident;
  expect(story.filter(({ mark }) => mark === 'v42').map(({ text }) => text)).toEqual([
    'v42 was deployed: app.shop.example',
  ]);
  expect(story.map(({ text }) => text)).toContainEqual(
    expect.stringMatching(/^Step 1 of the campaign .*: 1 run resumed, 1 verified$/),
  );

  const metrics = await (await fetch(`${origin}/metrics`)).text();
  expect(demo.stderr() + metrics).not.toContain(searchParams.get('code'));
  await demo.stop();
});
