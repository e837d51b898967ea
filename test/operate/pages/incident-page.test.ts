/** Page of an incident: its state, one next step for each role, and a chart whose values are those of the API. */
import { describe, expect, test } from 'vitest';
import { ask, incident, incidents, ledger, NOW, RESUME_BILLING, storedPlan, type World } from '../http/world.ts';
import { basicOf, browserOf, busy, OPERATOR } from './worlds.ts';

const MINUTE = 60_000;
const OWN = incident({
  id: '3f2a91bc0d',
  place: 'shop.example/flows/checkout',
  firstAt: NOW - 30 * MINUTE,
  lastAt: NOW - 20 * MINUTE,
  now: { workflow: 4, message: 0 },
  ever: 9,
  rate: { from: NOW - 30 * MINUTE, stepMs: MINUTE, counts: [5, 0, 3, 1] },
  campaigns: ['resume-billing/1'],
});

function given(over: Partial<World['incidents']> = {}, plans: readonly ReturnType<typeof storedPlan>[] = []): World {
  const deps = busy();
  const stepsOf = async () => [
    {
      campaign: 'resume-billing/1',
      step: 1,
      at: NOW - 9 * MINUTE,
      sent: 3,
      outcomes: [
        { at: NOW - 8 * MINUTE, outcome: 'verified' as const, count: 2 },
        { at: NOW - 7 * MINUTE, outcome: 'failed_again' as const, count: 1 },
      ],
    },
  ];
  return {
    ...deps,
    policies: async () => [{ ...RESUME_BILLING, nextRunAt: NOW + 60_000 }],
    incidents: { ...deps.incidents, find: () => OWN, ...over },
    ledger: ledger({
      stepsOf,
      storedPlans: async (states) => plans.filter(({ state }) => states.includes(state)),
    }),
  };
}

const words = (markup: string): string => markup.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');

test('the chart has the values of the API, and a mark for each event', async () => {
  const { page, address } = await browserOf(given());
  const text = await page(`/incidents/${OWN.id}`);
  const answer = JSON.parse(
    (await ask(address, `/api/v1/incidents/${OWN.id}`, { headers: { Authorization: basicOf('vera') } })).text,
  ) as {
    incident: { history: Record<'failed' | 'failedAgain' | 'verified', number[]>; story: { mark: string }[] };
  };
  const { history, story } = answer.incident;
  const table = /<table class="plain">.*?<\/table>/s.exec(text)![0];
  const rows = [...table.matchAll(/<tr><th scope="row">[^<]*<\/th>(.*?)<\/tr>/gs)].map(([, cells]) =>
    [...cells!.matchAll(/<td>([^<]*)<\/td>/g)].map(([, value]) => Number(value)),
  );
  const before = rows.length - history.failed.length;
  expect(
    rows
      .slice(0, before)
      .flat()
      .every((value) => value === 0),
  ).toBe(true);
  expect(rows.slice(before)).toEqual(
    history.failed.map((failed, index) => [failed, history.failedAgain[index], history.verified[index]]),
  );
  expect(rows.flat().reduce((sum, value) => sum + value, 0)).toBe(9 + 3);
  const marks = [...text.matchAll(/class="mark [a-z]+"[^>]*><title>[\d:]+ ([^<]*)<\/title>/g)].map(([, mark]) => mark);
  expect(marks).toEqual(story.map(({ mark }) => mark));
  expect(marks).toContain('step 1: 3');
});

test('says who repairs it and what remains', async () => {
  const { page } = await browserOf(given());
  const text = words(await page(`/incidents/${OWN.id}`));
  expect(text).toContain('resume-billing repairs it · 4 of 9 left · the first expires in 2 h · for 30 min');
  expect(text).toContain('Step 1 of the campaign resume-billing/1: 3 runs resumed, 2 verified, 1 failed again');
});

test('a policy that a guard holds repairs nothing', async () => {
  const held = { guard: 'arrivals', reason: '312 in 5 minutes', since: NOW };
  const { page } = await browserOf({ ...given(), policies: async () => [{ ...RESUME_BILLING, held }] });
  const text = words(await page(`/incidents/${OWN.id}`));
  expect(text).toContain('held by arrivals resume-billing · 4 of 9 left');
  expect(text).not.toContain('repairs it ·');
  const list = words(await page('/incidents'));
  expect(list).toContain('held by arrivals resume-billing');
  expect(list).not.toContain('resume-billing repairs it');
  const first = words(await page('/'));
  expect(first).toContain('held by arrivals resume-billing');
  expect(first).not.toContain('being repaired');
});

describe('the next step', () => {
  const pending = storedPlan({ targets: ['dlq-0', 'dlq-1'] });
  const APPROVE =
    /<form method="post" action="\/plans\/9f3c2a" class="act" aria-label="Plan 9f3c2a">.*?Approve 2 actions<\/button>/s;

  test('is a button for an operator, and a command for a viewer', async () => {
    const deps = given({}, [pending]);
    const operator = await (await browserOf(deps)).page(`/incidents/${OWN.id}`);
    expect(operator).toMatch(APPROVE);
    expect(words(operator)).toContain('waits for an approval');
    const viewer = await (await browserOf(deps, 'vera')).page(`/incidents/${OWN.id}`);
    expect(viewer).not.toContain('<form method="post" action="/plans');
    expect(viewer).toContain('<code>opsd approve 9f3c2a</code>');
    // The button stands above everything that an operator reads later.
    expect(operator.indexOf('Approve 2 actions')).toBeLessThan(operator.indexOf('What happened'));
  });

  test('approves the plan', async () => {
    const deps = given({}, [pending]);
    const acts: unknown[] = [];
    const approve: World['engine']['approve'] = async (id, person) => {
      acts.push([id, person.by]);
      return { ok: true, plan: pending };
    };
    const { post } = await browserOf({ ...deps, engine: { ...deps.engine, approve } });
    expect(await post('/plans/9f3c2a', { act: 'approve' })).toMatchObject({ status: 303 });
    expect(acts).toEqual([['9f3c2a', OPERATOR.user]]);
  });

  test('is a plan for runs that no policy selects, and else the page of the policy', async () => {
    const nobody = given({ selectedBy: () => new Map() });
    const path = `/incidents/${OWN.id}`;
    const unselected = await (await browserOf({ ...nobody, policies: async () => [] })).page(path);
    expect(words(unselected)).toContain('nobody repairs it');
    expect(unselected).toContain('Plan to resume 60 runs</button>');
    const selected = await (await browserOf(given())).page(path);
    expect(selected).toContain('<a class="button" href="/policies/resume-billing">');
    expect(selected.split('Other actions')[1]).toContain('Plan to resume 60 runs</button>');
  });
});

test('a resolved incident asks for nothing', async () => {
  const over = incidents({
    find: () => ({ ...OWN, state: 'resolved', resolvedAt: NOW, now: { workflow: 0, message: 0 } }),
  });
  const { page } = await browserOf({ ...given(), incidents: over });
  const text = await page(`/incidents/${OWN.id}`);
  expect(text).not.toContain('<button name="act"');
  expect(words(text)).toContain('Nothing to do: the incident is resolved.');
});
