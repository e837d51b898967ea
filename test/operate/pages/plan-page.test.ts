/** Page of a plan: its decision beside the facts for it, equal entries as one row, and a bounded size. */
import { expect, test } from 'vitest';
import type { Plan } from '#foundation/domain/plan.ts';
import { planText } from '#cli/commands/plan-text.ts';
import { RUN } from '../http/busy-world.ts';
import { NOW, plan, proposal, storedPlan, type World } from '../http/world.ts';
import { browserOf, busy } from './worlds.ts';

const words = (markup: string): string => markup.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');

function given(made: Plan, runs: readonly (typeof RUN)[] = []): World {
  const deps = busy();
  const targets = made.chosen.map(({ target }) => target);
  const stored = storedPlan({ plan: made as ReturnType<typeof plan>, targets });
  return { ...deps, ledger: { ...deps.ledger, storedPlan: async () => stored, runs: async () => runs } };
}

const entry = (index: number, of: object = {}) =>
  proposal({
    target: `dlq-${index}`,
    dlqId: `dlq-${index}`,
    workflowRunId: `wfr_${index}`,
    workflowUrl: 'https://app.example.com/api/workflows/invoice',
    failedAt: NOW - index * 1_000,
    cause: 'transient',
    status: 503,
    ...of,
  });

test('has what happens, its steps and the last actions above the decision, and the evidence below', async () => {
  const campaigns = [
    {
      group: 'https://a.example',
      state: 'ready',
      step: 2,
      now: 3,
      next: [9, 27],
      verified: 1,
      judged: 1,
      matched: 183,
    },
  ] as const;
  const made = plan({ chosen: [1, 2, 3].map((index) => entry(index)), backlog: 180, campaigns });
  const runs = [
    { ...RUN, acted: 0, outcome: 'denied' as const },
    { ...RUN, id: 9, at: NOW - 3_600_000, acted: 5, matched: 9, backlog: 4 },
  ];
  const operator = words(await (await browserOf(given(made, runs))).page('/plans/9f3c2a'));
  const order = [
    'Resume 3 runs of production?',
    'What happens resume 3 runs of production; 180 more are left for later runs a resumed run cannot be cancelled',
    'Steps 3 of 183 now, then 9, 27',
    'Last actions of the policy 1 h ago 9 matched: 5 acted on, 4 left',
    'Approve 3 actions',
    'Reject',
    'Entries with the same destination and reason are one row.',
    'What was read and decided',
  ];
  const places = order.map((text) => operator.indexOf(text));
  expect(places, JSON.stringify(places)).not.toContain(-1);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  const viewer = await (await browserOf(given(made), 'vera')).page('/plans/9f3c2a');
  expect(viewer).not.toContain('<form method="post" action="/plans');
  expect(viewer).toContain('<code>opsd approve 9f3c2a</code> <code>opsd reject 9f3c2a</code>');
  const idle = words(await (await browserOf(given(made, runs.slice(0, 1)))).page('/plans/9f3c2a'));
  expect(idle).toContain('its last 1 run did nothing');
});

test('a plan with 10,000 entries, groups and reasons has one row for equal entries, and less than 100 kB', async () => {
  const chosen = Array.from({ length: 10_000 }, (_, index) =>
    entry(index, index % 4 === 0 ? { status: 422, cause: 'permanent' } : {}),
  );
  const many = Array.from({ length: 10_000 }, (_, index) => index);
  const made = plan({
    chosen,
    backlog: 700,
    deferred: Array.from({ length: 50 }, (_, index) => entry(20_000 + index)),
    campaigns: many.map((index) => ({
      group: `https://a.example/${index}`,
      state: 'ready' as const,
      step: 1,
      now: 1,
      next: [3, 9],
      verified: 0,
      judged: 0,
      matched: 1,
    })),
    skipped: many.map((index) => ({ guard: 'where', reason: `reason ${index}`, count: 2 })),
    checks: many.map((index) => ({ guard: 'destination', passed: true, reason: `host ${index}` })),
    read: { pages: 1, entries: 1, complete: true, filterChecked: 1 },
  });
  const { page } = await browserOf(given(made));
  const markup = await page('/plans/9f3c2a');
  expect(markup.length).toBeLessThan(100_000);
  const text = words(markup);
  expect(text).toContain('invoice transient HTTP 503 7,500 50');
  expect(text).toContain('invoice permanent HTTP 422 2,500 –');
  expect(text).toContain('650 more of later runs are not listed.');
  expect(text).toContain('10,000 now in 10,000 groups');
  expect(text).toContain('9,980 more groups');
  expect(text).toContain('− 19,960 9,980 more reasons');
  expect(text).toContain('And 10,650 more');
});

test('its selection and campaigns are those of the command', async () => {
  const campaigns = [
    { group: 'https://a.example', state: 'ready', step: 2, now: 1, next: [3], verified: 1, judged: 2, matched: 9 },
  ] as const;
  const made = plan({
    chosen: [entry(1)],
    backlog: 8,
    matched: 9,
    campaigns,
    skipped: [{ guard: 'protected', reason: 'no-auto', count: 4 }],
    read: { pages: 1, entries: 13, complete: true, filterChecked: 13 },
  });
  const shown = words(await (await browserOf(given(made))).page('/plans/9f3c2a'));
  const printed = planText(made, { color: false }).replaceAll(/\s+/g, ' ');
  for (const text of ['− 4 protected no-auto', '= 9 matched : 1 now, 8 in later runs', 'step 2: 1 of 9 now, then 3']) {
    expect(shown).toContain(text);
    expect(printed).toContain(text.replace(' :', ':'));
  }
});
