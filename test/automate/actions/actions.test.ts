import { describe, expect, test } from 'vitest';
import type { ServiceClient } from '#service/api.ts';
import type { ResumeProposal } from '#foundation/domain/plan.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { actionsOver } from '../../support/actions-over.ts';
import { FakeDlq } from '../../support/fake-dlq.ts';

const NEVER = new AbortController().signal;

function stage(maxPages = 50) {
  const clock = new ManualClock(Date.UTC(2025, 10, 20, 12));
  const dlq = new FakeDlq(clock);
  return { dlq, clock, actions: actionsOver(dlq.client(), { clock, maxPages }) };
}

const PROPOSAL: ResumeProposal = {
  policy: 'p',
  account: 'production',
  action: 'workflow-dlq.resume',
  target: 'dlq-001',
  group: 'https://a',
  items: 1,
  dlqId: 'dlq-001',
  workflowRunId: 'wfr-1',
  workflowUrl: 'https://a',
  lineage: 'abc',
  attempt: 2,
  failedAt: 0,
  labels: ['billing'],
  cause: 'transient',
};

test('a log that no API reads is unread, and not empty', async () => {
  const actions = actionsOver({} as ServiceClient, { clock: new ManualClock(0) });
  expect(await actions.readLog('production', { messageId: 'a' }, NEVER)).toBe('the account has no message API');
});

describe('listing', () => {
  test('reads all pages under one filter, each id once', async () => {
    const { dlq, actions } = stage();
    for (let i = 0; i < 7; i++) dlq.add();
    dlq.add({ labels: ['x'] });
    dlq.repeatRows = true;
    dlq.clockSkewMs = 2_000;
    const listing = await actions.list('production', { label: ['billing'] }, NEVER);
    expect(listing).toMatchObject({ complete: true, pages: 3, duplicates: 3, dropped: 0, clockSkewMs: 2_000 });
    expect(listing.entries).toHaveLength(7);
    expect(dlq.listings.map(({ label, count }) => [label, count])).toEqual([
      [['billing'], 100],
      [['billing'], 100],
      [['billing'], 100],
    ]);
  });

  test.each([
    ['a failed page', (s: ReturnType<typeof stage>) => (s.dlq.failOnPage = 1), 'server_error: the service failed'],
    ['a cursor that comes twice', (s) => (s.dlq.repeatCursor = true), 'the service repeated a cursor'],
    ['too many pages', (s) => Array.from({ length: 20 }, () => s.dlq.add()), 'more than 4 pages'],
  ] as [string, (s: ReturnType<typeof stage>) => unknown, string][])(
    'is incomplete after %s',
    async (_w, spoil, why) => {
      const s = stage(4);
      for (let i = 0; i < 9; i++) s.dlq.add();
      spoil(s);
      expect(await s.actions.list('production', {}, NEVER)).toMatchObject({ complete: false, problem: why });
    },
  );

  test('is incomplete when aborted, and when the account or the message API is missing', async () => {
    const { dlq, actions, clock } = stage();
    dlq.add();
    const aborted = await actions.list('production', {}, AbortSignal.abort(new Error('stopping')));
    expect(aborted).toMatchObject({ complete: false, problem: 'stopping', entries: [] });
    const bare = actionsOver({} as ServiceClient, { account: 'bare', clock });
    for (const account of ['bare', 'nobody']) {
      const listing = await bare.list(account, {}, NEVER);
      expect(listing).toMatchObject({ complete: false, problem: 'the account has no message API' });
    }
  });
});

describe('resuming', () => {
  test('describes exactly what it sends', async () => {
    const { dlq, actions } = stage();
    dlq.add();
    const request = actions.describe({ ...PROPOSAL, retries: 0 }, { instance: 'here' });
    expect(request).toEqual({
      operation: 'resume-workflow-dlq',
      account: 'production',
      dlqIds: ['dlq-001'],
      overrides: { labels: ['opsd:here:abc:2', 'billing'], retries: 0 },
    });
    expect(dlq.sent).toEqual([]);
    expect(await actions.act(request)).toEqual({ outcome: 'accepted', done: 1, newRunId: 'wfr-again-0' });
    expect(dlq.sent).toMatchObject([
      { dlqIds: ['dlq-001'], overrides: { labels: ['opsd:here:abc:2', 'billing'], retries: 0 } },
    ]);
    expect(actions.describe(PROPOSAL, { instance: 'here' })).toHaveProperty('overrides', {
      labels: ['opsd:here:abc:2', 'billing'],
    });
  });

  test('sets flow control only for entries without it', () => {
    const { actions } = stage();
    const flowControl = { key: 'opsd-p', parallelism: 2, rate: 5, period: 1 };
    const bare = actions.describe({ ...PROPOSAL, flowControl }, { instance: 'here' });
    expect(bare).toHaveProperty('overrides.flowControl', flowControl);
    const limited = actions.describe({ ...PROPOSAL, flowControl, flowControlKey: 'theirs' }, { instance: 'here' });
    expect(limited).not.toHaveProperty('overrides.flowControl');
  });
});
