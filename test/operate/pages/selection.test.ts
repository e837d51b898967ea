/** Plans from pages: what a form selects, and that nothing selects everything. */
import { describe, expect, test } from 'vitest';
import type { Selection } from '#foundation/domain/selection.ts';
import type { EngineCommands } from '#automate/ledger/commands.ts';
import { deadLetter, run } from '../../observe/incidents/planted.ts';
import { ask, engine, incidents, NOW, plan, world, type World } from '../http/world.ts';
import { basicOf, browserOf, busy, OPERATOR, withUsers } from './worlds.ts';

const ACCOUNTS = [{ name: 'production' }];

async function daemon(overrides: Partial<World> = {}, count = 5) {
  const made: Parameters<EngineCommands['planManually']>[0][] = [];
  const deps = world({
    ...withUsers(),
    accounts: ACCOUNTS,
    incidents: incidents({ deadLetters: () => [deadLetter({ dlqId: 'm-1' })] }),
    engine: engine({
      planManually: async (asked) => (made.push(asked), await Promise.resolve({ ok: true, plan: plan() })),
    }),
    ...overrides,
  });
  deps.register('workflowDlq');
  const rows = Array.from({ length: count }, (_, index) =>
    run({ dlqId: `d-${index}`, labels: ['billing'], createdAt: NOW - 3_600_000 + index }),
  );
  deps.publish('workflowDlq', rows);
  const browser = await browserOf(deps);
  const { address } = browser;
  const post = (path: string, fields: readonly (readonly [string, string])[]) =>
    browser.post(
      path,
      fields.map(([name, value]): [string, string] => [name, value]),
    );
  const selections = (): readonly Selection[] => made.map(({ selection }) => selection);
  return { address, page: browser.page, post, made, selections };
}

const REASON = ['reason', 'the database is back'] as const;

describe('the page of a dead message', () => {
  const PATH = '/dead-letters/m-1?account=production';
  const kept = (body: string) => {
    const edits: (string | undefined)[] = [];
    const state = { size: body.length, until: NOW + 1_000 };
    const bodies = {
      states: async () => new Map([['m-1', state]]),
      read: async () => ({ kept: { body: Buffer.from(body), headers: {} } }),
      change: async (_account: string, _id: string, change: { body?: Uint8Array }) => {
        edits.push(change.body && Buffer.from(change.body).toString());
        return { edit: { sha256: 'ab', size: 3, headers: [] } };
      },
    } as unknown as World['bodies'];
    return { edits, bodies };
  };

  test('has its body in a field, and plans it as it is, or changed', async () => {
    const { edits, bodies } = kept('{"a": 1}\n{"b": 2}\n');
    const { page, post, selections } = await daemon({ bodies });
    expect(await page(PATH)).toContain('>\n{&quot;a&quot;: 1}\n{&quot;b&quot;: 2}\n</textarea>');
    // A browser sends CR LF.
    await post(PATH, [['act', 'republish'], REASON, ['body', '{"a": 1}\r\n{"b": 2}\r\n']]);
    await post(PATH, [['act', 'republish'], REASON, ['body', '{"a": 1}\r\n{"b": 3}\r\n']]);
    const selection = { action: 'republish', queue: 'message', account: 'production', ids: ['m-1'] };
    expect(selections()).toEqual([selection, { ...selection, edit: { sha256: 'ab', size: 3, headers: [] } }]);
    expect(edits).toEqual(['{"a": 1}\n{"b": 3}\n']);
  });

  test.each([
    ['a secret', '{"password": "hunter2"}', 'what may be a secret'],
    ['a secret in text', 'password=hunter2', 'what may be a secret'],
    ['an escaped secret', '{"passw\\u006frd": "hunter2"}', 'what may be a secret'],
    ['bytes that are no text', '\0', 'is no text'],
  ])('with %s in its body shows none, and names the command', async (_what, body, why) => {
    const { bodies } = kept(body);
    const { page } = await daemon({ bodies });
    const shown = await page(PATH);
    expect(shown).toContain(why);
    expect(shown).toContain('opsd dlq republish m-1 --body FILE');
    expect(shown).not.toMatch(/hunter2|<textarea/);
  });
});

describe('the page of the dead letters', () => {
  test('plans the checked ones', async () => {
    const { post, made } = await daemon();
    const answer = await post('/dead-letters', [
      ['act', 'resume'],
      REASON,
      ['scope', 'selected'],
      ['id', 'd-1'],
      ['id', 'd-3'],
    ]);
    expect([answer.status, answer.headers.location]).toEqual([303, '/plans/9f3c2a']);
    const selection = { action: 'resume', queue: 'workflow', account: 'production', ids: ['d-1', 'd-3'] };
    expect(made).toEqual([{ by: OPERATOR.user, reason: REASON[1], selection }]);
  });

  test('plans all that match a filter, on every page of the list', async () => {
    const { post, selections } = await daemon();
    const all = [['act', 'delete'], REASON, ['scope', 'all']] as const;
    expect((await post('/dead-letters?label=billing&limit=2&refresh=10', all)).status).toBe(303);
    expect(selections()[0]).toMatchObject({ action: 'delete', account: 'production' });
    expect(selections()[0]!.ids).toHaveLength(5);
  });

  test('plans more than a plan can name by the filters of the service, until now', async () => {
    const { post, selections } = await daemon({}, 1_200);
    const all = [['act', 'resume'], REASON, ['scope', 'all']] as const;
    expect((await post('/dead-letters?label=billing&since=2h&cause=transient', all)).status).toBe(400);
    expect((await post('/dead-letters?label=billing&since=2h', all)).status).toBe(303);
    expect(selections()).toEqual([
      { action: 'resume', account: 'production', label: ['billing'], fromDate: NOW - 7_200_000, toDate: NOW },
    ]);
  });

  test('plans no more than the service can select: it compares whole URLs and statuses', async () => {
    const { post, selections } = await daemon({}, 1_200);
    const all = [['act', 'resume'], REASON, ['scope', 'all']] as const;
    const { workflowUrl } = run({ dlqId: 'd' });
    const host = new URL(workflowUrl).host;
    for (const filter of [`url=${host}`, `workflowUrl=${host}`, 'responseStatus=5xx']) {
      const refused = await post(`/dead-letters?${filter}`, all);
      expect([refused.status, refused.text], filter).toEqual([400, expect.stringContaining('give the whole URL')]);
    }
    expect(selections()).toEqual([]);
    expect((await post(`/dead-letters?workflowUrl=${workflowUrl}`, all)).status).toBe(303);
    expect(selections()).toEqual([
      { action: 'resume', account: 'production', workflowUrl: [workflowUrl], toDate: NOW },
    ]);
    // The service cannot filter runs by another URL.
    const step = await post(`/dead-letters?url=${workflowUrl}`, all);
    expect([step.status, step.text]).toEqual([400, expect.stringContaining('resume has no filter url')]);
    const few = await daemon();
    expect((await few.post(`/dead-letters?url=${host}&responseStatus=5xx`, all)).status).toBe(303);
    expect(few.selections()[0]!.ids).toHaveLength(5);
  });

  const NO_FILTER = [
    '',
    '?',
    '?label=',
    '?account=production',
    '?queue=workflow',
    '?since=2h',
    '?fromDate=2h&toDate=1h',
    '?limit=500',
    '?refresh=10',
  ];
  test.each(NO_FILTER)('plans nothing for all of %j: there is no filter', async (query) => {
    const { post, made } = await daemon();
    for (const act of ['resume', 'delete', 'delete-messages']) {
      const answer = await post(`/dead-letters${query}`, [['act', act], REASON, ['scope', 'all']]);
      expect(answer.status).toBe(400);
      expect(answer.text).toContain('A filter is required');
    }
    expect(made).toEqual([]);
  });

  test.each<[string, readonly (readonly [string, string])[], number]>([
    ['nothing checked', [['scope', 'selected']], 400],
    ['an unknown id', [['id', 'd-99']], 409],
    ['a message among runs', [['id', 'm-1']], 409],
    ['an empty id', [['id', '']], 400],
  ])('plans nothing with %s', async (_name, fields, status) => {
    const { post, made } = await daemon();
    expect((await post('/dead-letters', [['act', 'resume'], REASON, ...fields])).status).toBe(status);
    expect(made).toEqual([]);
  });

  test('plans nothing without a reason, or for another act', async () => {
    const { post, made } = await daemon();
    expect(
      (
        await post('/dead-letters', [
          ['act', 'resume'],
          ['id', 'd-1'],
        ])
      ).status,
    ).toBe(400);
    expect((await post('/dead-letters', [['act', 'prune'], REASON, ['id', 'd-1']])).status).toBe(400);
    expect((await post('/dead-letters?labl=x', [['act', 'resume'], REASON, ['scope', 'all']])).status).toBe(400);
    expect(made).toEqual([]);
  });

  test('offers all that match only with a filter, and nothing to viewers', async () => {
    const { address } = await daemon();
    const text = async (path: string, user: string) =>
      (await ask(address, path, { headers: { Authorization: basicOf(user) } })).text;
    expect(await text('/dead-letters?label=billing', OPERATOR.user)).toContain('all 5 that match');
    expect(await text('/dead-letters', OPERATOR.user)).toContain('Add a filter to choose all that match.');
    const viewers = await text('/dead-letters?label=billing', 'vera');
    expect(viewers).toContain('d-1');
    expect(viewers).not.toContain('checkbox');
    expect(viewers).not.toContain('method="post"');
  });
});

test('the page of an incident plans its members, acknowledges and snoozes it', async () => {
  const acknowledged: unknown[] = [];
  const base = busy();
  const watch = {
    ...base.incidents,
    memberIds: () => ['d-0', 'd-1', 'd-2', 'd-3', 'd-4'],
    acknowledge: (incident: never, person: unknown) => (acknowledged.push(person), incident),
  };
  const { post, selections } = await daemon({ incidents: watch });
  const path = '/incidents/3f2a91bc0d';
  expect((await post(path, [['act', 'acknowledge'], REASON])).headers.location).toBe(path);
  expect(acknowledged).toEqual([{ by: OPERATOR.user, note: REASON[1] }]);
  expect((await post(path, [['act', 'acknowledge']])).status).toBe(400);
  const snooze = [['act', 'snooze'], ['until', 'deploy'], REASON] as const;
  expect((await post(path, snooze)).headers.location).toBe(path);
  expect(acknowledged.slice(1)).toEqual([{ by: OPERATOR.user, note: REASON[1], untilDeploy: true }]);
  expect((await post(path, snooze.slice(0, 2))).status).toBe(400);
  expect((await post(path, [['act', 'snooze'], REASON])).status).toBe(400);
  expect((await post(path, [['act', 'resume'], REASON])).headers.location).toBe('/plans/9f3c2a');
  const [selection] = selections();
  expect(selection).toMatchObject({ action: 'resume', account: 'production' });
  expect(selection!.ids!.toSorted()).toEqual(['d-0', 'd-1', 'd-2', 'd-3', 'd-4']);
});

test('an incident without members plans nothing', async () => {
  const { incidents: watch } = busy();
  const { post, made } = await daemon({ incidents: { ...watch, memberIds: () => [] } });
  expect((await post('/incidents/3f2a91bc0d', [['act', 'resume'], REASON])).status).toBe(400);
  expect(made).toEqual([]);
});
