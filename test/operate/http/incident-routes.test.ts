/** Routes of incidents and dead letters: filters, pages, honest states, permissions. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { Incident } from '#foundation/domain/incident.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { Secret } from '#foundation/platform/secret.ts';
import {
  ask,
  asked,
  got,
  incident,
  incidents,
  ledger,
  NOW,
  plan,
  RESUME_BILLING,
  serving,
  storedPlan,
  world,
  type World,
} from './world.ts';
import { deadLetter, run, START } from '../../observe/incidents/planted.ts';

type CampaignStatus = PolicyStatus['campaigns'][number];

const ACCOUNT = { name: 'production', dlqRetentionMs: 86_400_000 };

const INCIDENT = incident({
  id: '3f2a91bc0d',
  firstAt: NOW - 3_600_000,
  place: 'shop.example/flows/checkout',
  reason: 'HTTP 503: upstream # is unavailable',
  now: { workflow: 2, message: 0 },
  ever: 5,
  expired: 1,
  rate: { from: NOW - 3_600_000, stepMs: 240_000, counts: [3, 0, 2] },
  campaigns: ['resume-billing/1'],
});

const INCIDENTS = '/api/v1/incidents';
const ONE = `${INCIDENTS}/${INCIDENT.id}`;
const ANNA = { name: 'anna', role: 'operator', token: Secret.of('operator-token') } as const;

interface Incidents {
  readonly total: number;
  readonly incidents: readonly { readonly id: string; readonly members: unknown }[];
}

interface Given {
  readonly runs?: readonly WorkflowDlqEntry[];
  readonly deadLetters?: readonly DeadLetter[];
  readonly overrides?: Parameters<typeof incidents>[0];
}

function given({ runs, deadLetters = [], overrides = {} }: Given): World {
  const deps = world({
    accounts: [ACCOUNT],
    policies: async () => [RESUME_BILLING],
    incidents: incidents({ deadLetters: () => deadLetters, ...overrides }),
  });
  deps.register('workflowDlq');
  if (runs !== undefined) {
    const rows = runs.toSorted((a, b) => a.createdAt - b.createdAt || (a.dlqId < b.dlqId ? -1 : 1));
    deps.publish('workflowDlq', rows);
  }
  return deps;
}

interface List {
  readonly total: number;
  readonly deadLetters: readonly { readonly id: string; readonly [name: string]: unknown }[];
  readonly cursor?: string;
  readonly queues: readonly { readonly queue: string; readonly readAt?: number; readonly problem?: string }[];
}

describe('GET /api/v1/dead-letters', () => {
  const runs = [
    run({ dlqId: 'r1', createdAt: NOW - 5_000, labels: ['billing', 'opsd:x:l:1'], callerIp: '10.0.0.1' }),
    run({ dlqId: 'r2', createdAt: NOW - 4_000, responseStatus: 422, flowControlKey: 'mail' }),
    run({ dlqId: 'r3', createdAt: NOW - 3_000, url: 'https://shop.example/step?token=hunter2' }),
  ];
  const deadLetters = [deadLetter({ dlqId: 'm1', learnedAt: NOW - 3_500, labels: ['billing'], topicName: 'orders' })];

  test('lists both queues, newest first, with the incident, the expiry and the reason', async () => {
    const overrides = {
      incidentOf: (_account: string, _queue: string, id: string) => (id === 'r1' ? 'i1' : undefined),
    };
    const body = await got<List>(given({ runs, deadLetters, overrides }), '/api/v1/dead-letters');
    expect(body.total).toBe(4);
    expect(body.deadLetters.map(({ id }) => id)).toEqual(['r3', 'm1', 'r2', 'r1']);
    expect(body.deadLetters[3]).toMatchObject({
      queue: 'workflow',
      incident: 'i1',
      cause: 'transient',
      reason: 'HTTP 503',
      labels: ['billing'],
      expiresAt: NOW - 5_000 + ACCOUNT.dlqRetentionMs,
    });
    expect(JSON.stringify(body)).not.toContain('hunter2');
  });

  test.each([
    ['label=billing', ['m1', 'r1']],
    ['label=billing&queue=workflow', ['r1']],
    ['responseStatus=422', ['r2']],
    ['responseStatus=422&responseStatus=500', ['m1', 'r2']],
    ['flowControlKey=mail', ['r2']],
    ['callerIp=10.0.0.1', ['r1']],
    ['topicName=orders', ['m1']],
    ['url=https://shop.example/step', ['r3']],
    ['workflowRunId=wfr-r2', ['r2']],
    ['workflowUrl=https://shop.example/flows/checkout&label=billing', ['r1']],
    ['cause=permanent', ['r2']],
    [`since=${NOW - 3_600}`, ['r3', 'm1']],
    [`fromDate=${NOW - 4_000}&toDate=${NOW - 3_500}`, ['m1', 'r2']],
    [`since=${new Date(NOW - 3_000).toISOString()}`, ['r3']],
    ['messageId=msg-m1', ['m1']],
    ['workflowUrl=https://shop.example', ['r3', 'r2', 'r1']],
    ['workflowUrl=shop.example/flows&label=billing', ['r1']],
    ['workflowUrl=shop.exam', []],
    ['workflowUrl=http://shop.example', []],
    ['url=shop.example&queue=workflow', ['r3', 'r2', 'r1']],
    ['url=crm.vendor.example', ['m1']],
    ['responseStatus=4xx', ['r2']],
    ['responseStatus=5XX&queue=message', ['m1']],
  ])('filter %s', async (query, ids) => {
    const body = await got<List>(given({ runs, deadLetters }), `/api/v1/dead-letters?${query}`);
    expect(body.deadLetters.map(({ id }) => id)).toEqual(ids);
    expect(body.total).toBe(ids.length);
  });

  test.each([
    'lable=billing',
    'queue=both',
    'cause=x',
    'responseStatus=many',
    'since=yesterday',
    'cursor=x',
    'limit=0',
  ])('rejects %s', async (query) => {
    const { status, body } = await asked(given({ runs }), `/api/v1/dead-letters?${query}`);
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: { code: 'bad_request' } });
  });

  test('an unknown account is not found', async () => {
    expect(await asked(given({ runs }), '/api/v1/dead-letters?account=prod')).toMatchObject({ status: 404 });
    expect(await asked(given({ runs }), '/api/v1/incidents?account=prod')).toMatchObject({ status: 404 });
  });

  test('pages have every row exactly once, while others arrive and leave', async () => {
    const times = fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(times, fc.integer({ min: 1, max: 9 }), async (offsets, limit) => {
        const rows = offsets.map((offset, n) => run({ dlqId: `d${n}`, createdAt: NOW - 1_000 - offset }));
        const messages = offsets.map((offset, n) => deadLetter({ dlqId: `d${n}`, learnedAt: NOW - 1_000 - offset }));
        messages.sort((a, b) => a.learnedAt - b.learnedAt || (a.dlqId < b.dlqId ? -1 : 1));
        const seen: string[] = [];
        let cursor: string | undefined;
        const deps = given({ runs: rows, deadLetters: messages });
        const { address } = await serving(deps);
        do {
          const after = cursor === undefined ? '' : `&cursor=${cursor}`;
          const { text } = await ask(address, `/api/v1/dead-letters?limit=${limit}${after}`);
          const page = JSON.parse(text) as List;
          expect(page.total).toBeGreaterThanOrEqual(2 * rows.length);
          seen.push(...page.deadLetters.map(({ id, queue }) => `${String(queue)} ${id}`));
          cursor = page.cursor;
          const newer = run({ dlqId: `new-${seen.length}`, createdAt: NOW });
          const { rows: before } = deps.board.latest('production', 'workflowDlq')!;
          deps.publish('workflowDlq', [...before, newer]);
        } while (cursor !== undefined);
        const wanted = rows.flatMap(({ dlqId }) => [`workflow ${dlqId}`, `message ${dlqId}`]);
        expect(seen.toSorted()).toEqual(wanted.toSorted());
      }),
      { numRuns: 15 },
    );
  });

  test('says what was not read yet', async () => {
    const body = await got<List>(given({ overrides: { deadLetters: () => undefined } }), '/api/v1/dead-letters');
    expect(body).toMatchObject({ total: 0, deadLetters: [] });
    expect(body.queues).toEqual([
      { account: 'production', queue: 'workflow', problem: 'not read yet' },
      { account: 'production', queue: 'message', problem: 'not read yet' },
    ]);
  });

  test('says that a reading is too old', async () => {
    const deps = given({ runs });
    await deps.clock.advance(181_000);
    const body = await got<List>(deps, '/api/v1/dead-letters?queue=workflow');
    expect(body.queues).toEqual([
      { account: 'production', queue: 'workflow', readAt: NOW, problem: 'the last reading is too old' },
    ]);
    expect(body.total).toBe(3);
  });
});

describe('GET /api/v1/dead-letters/{id}', () => {
  const row = {
    header: { Authorization: ['Bearer hunter2'], 'X-Order': ['7'] },
    body: '{"order": 7, "password": "hunter2"}',
    responseBody: 'x'.repeat(5_000),
  };

  test('has no body unless it is asked for', async () => {
    const { body } = await asked(given({ runs: [run({ dlqId: 'r1' })] }), '/api/v1/dead-letters/r1');
    expect(body).toMatchObject({ deadLetter: { id: 'r1' }, actions: [] });
    expect(body).not.toHaveProperty('sample');
  });

  test('an operator reads body and headers, redacted and cut', async () => {
    const deps = given({ runs: [run({ dlqId: 'r1' })], overrides: { readRow: () => Promise.resolve(row) } });
    const headers = { authorization: 'Bearer operator-token' };
    const path = '/api/v1/dead-letters/r1?body=true';
    const { text, body } = await asked({ ...deps, tokens: [ANNA] }, path, { headers });
    expect(text).not.toContain('hunter2');
    expect(body).toMatchObject({
      sample: {
        headers: { Authorization: '[secret]', 'X-Order': ['7'] },
        body: '{"order":7,"password":"[secret]"}',
        isCut: true,
      },
    });
    expect(text.length).toBeLessThan(6_000);
  });

  test('an anonymous reader gets no body, and causes no request', async () => {
    const deps = given({
      runs: [run({ dlqId: 'r1' })],
      overrides: { readRow: () => Promise.reject(new Error('a request was sent')) },
    });
    const { status } = await asked(deps, '/api/v1/dead-letters/r1?body=true');
    expect(status).toBe(403);
  });

  describe('of a message', () => {
    const NOT_KEPT = { reason: 'Bodies of production are not kept: set x.' };
    const kept = (state: object, read: object = state) => ({
      ...given({ deadLetters: [deadLetter({ dlqId: 'm1' })] }),
      tokens: [ANNA],
      bodies: { states: async () => new Map([['m1', state]]), read: async () => read } as unknown as World['bodies'],
    });
    const headers = { authorization: 'Bearer operator-token' };

    test('says if its body is kept, its size, and until when, to everyone', async () => {
      const deps = kept({ size: 5, until: NOW + 1_000 }, { kept: { body: Buffer.from('hunter2') } });
      const { body, text } = await asked(deps, '/api/v1/dead-letters/m1');
      expect(body).toMatchObject({ deadLetter: { id: 'm1' }, body: { size: 5, until: NOW + 1_000 } });
      expect(body).not.toHaveProperty('sample');
      expect(text).not.toContain('hunter2');
      expect((await asked(deps, '/api/v1/dead-letters/m1?body=true')).status).toBe(401);
      const list = await asked(deps, '/api/v1/dead-letters', { headers });
      expect(list.text).not.toMatch(/hunter2|"body"/);
    });

    test('has its reason if no body is kept', async () => {
      const { body } = await asked(kept(NOT_KEPT), '/api/v1/dead-letters/m1?body=true', { headers });
      expect(body).toMatchObject({ body: NOT_KEPT, sample: { problem: NOT_KEPT.reason } });
    });

    test('an operator reads its body and headers, redacted and cut', async () => {
      const message = {
        headers: { Authorization: ['Bearer hunter2'], 'X-Order': ['7'] },
        body: Buffer.from(`{"password":"hunter2","text":"${'x'.repeat(5_000)}"}`),
      };
      const deps = kept({ size: 5_033, until: NOW + 1_000 }, { kept: message });
      const { body, text } = await asked(deps, '/api/v1/dead-letters/m1?body=true', { headers });
      expect(body).toMatchObject({ sample: { headers: { Authorization: '[secret]', 'X-Order': ['7'] }, isCut: true } });
      expect(text).toContain('{\\"password\\":\\"[secret]\\"');
      expect(text).not.toContain('hunter2');
      expect(text.length).toBeLessThan(6_000);
    });
  });

  test('an unknown id is not found, an id of both queues is ambiguous', async () => {
    const deps = given({ runs: [run({ dlqId: 'x' })], deadLetters: [deadLetter({ dlqId: 'x' })] });
    expect(await asked(deps, '/api/v1/dead-letters/y')).toMatchObject({ status: 404 });
    expect(await asked(deps, '/api/v1/dead-letters/x')).toMatchObject({ status: 400 });
  });
});

describe('GET /api/v1/incidents', () => {
  const others: Incident[] = [
    { ...INCIDENT, id: 'aaaa', state: 'resolved', resolvedAt: NOW },
    { ...INCIDENT, id: 'bbbb', state: 'acknowledged', acknowledged: { by: 'anna', note: 'known', at: NOW } },
  ];
  const world = (all: readonly Incident[] = [...others, INCIDENT]) =>
    given({ overrides: { all: () => all, firstExpiresAt: () => NOW + 5 } });

  test('lists unresolved incidents first, with counts', async () => {
    expect(await got(world(), INCIDENTS)).toMatchObject({
      total: 3,
      incidents: [
        {
          id: INCIDENT.id,
          title: '2 runs of shop.example/flows/checkout failed: HTTP 503',
          members: { now: 2, ever: 5, expired: 1, workflow: 2, message: 0 },
          firstExpiresAt: NOW + 5,
        },
        { id: 'bbbb', acknowledged: { by: 'anna', note: 'known' } },
        { id: 'aaaa', resolvedAt: NOW },
      ],
    });
  });

  test.each([
    ['state=open', ['3f2a91bc0d']],
    ['state=open&state=acknowledged', ['3f2a91bc0d', 'bbbb']],
    ['state=resolved&account=production', ['aaaa']],
    ['limit=1', ['3f2a91bc0d']],
    ['cursor=3f2a91bc0d', ['bbbb', 'aaaa']],
  ])('%s', async (query, ids) => {
    const { incidents } = await got<Incidents>(world(), `${INCIDENTS}?${query}`);
    expect(incidents.map(({ id }) => id)).toEqual(ids);
  });

  test('the members of a destination are a lower bound, because no operation lists the message DLQ', async () => {
    const none = { now: { workflow: 0, message: 0 }, kind: 'destination', place: 'crm.vendor.example' } as const;
    const { incidents } = await got<Incidents>(world([INCIDENT, { ...INCIDENT, ...none }]), INCIDENTS);
    expect(incidents.map(({ members }) => members)).toMatchObject([
      { now: 2, isLowerBound: false },
      { now: 0, isLowerBound: true },
    ]);
  });

  test.each([
    ['destination', { workflow: 0, message: 3 }, 'at least 3 messages to shop.example failed: HTTP 503'],
    ['destination', { workflow: 1, message: 3 }, 'at least 4 dead letters to shop.example: HTTP 503'],
    ['overflow', { workflow: 0, message: 3 }, 'at least 3 dead letters of further kinds'],
    ['workflow', { workflow: 3, message: 0 }, '3 runs of shop.example failed: HTTP 503'],
  ] as const)('a title has a lower bound if there may be more: %s %j', async (kind, now, title) => {
    const all = [{ ...INCIDENT, kind, now, place: 'shop.example' }];
    expect(await got(world(all), INCIDENTS)).toMatchObject({ incidents: [{ title }] });
  });

  test('known members come first, then failed messages that are not known by id, whenever they opened', async () => {
    const none = { now: { workflow: 0, message: 0 }, kind: 'destination' } as const;
    const deliveries = { failed: 55, lost: 0, since: 0, lastAt: NOW, isFailing: true };
    const lost = { ...none, deliveries: { ...deliveries, lost: 19 } };
    const unordered: Incident[] = [
      { ...INCIDENT, ...none, id: 'empty', openedAt: NOW, deliveries },
      { ...INCIDENT, ...lost, id: 'lost', openedAt: NOW - 2 },
      { ...INCIDENT, id: 'known', openedAt: NOW - 3 },
      { ...INCIDENT, id: 'acked', openedAt: NOW, state: 'acknowledged' },
      { ...INCIDENT, ...lost, id: 'past-1', openedAt: NOW - 9, state: 'resolved' },
      { ...INCIDENT, ...none, id: 'past-2', openedAt: NOW - 8, state: 'resolved' },
    ];
    const { incidents } = await got<Incidents>(world(unordered), INCIDENTS);
    const order = ['known', 'lost', 'empty', 'acked', 'past-2', 'past-1'];
    expect(incidents.map(({ id }) => id)).toEqual(order);
  });

  test.each(['state=closed', 'stat=open', 'cursor=nothing'])('rejects %s', async (query) => {
    expect(await asked(world(), `${INCIDENTS}?${query}`)).toMatchObject({ status: 400 });
  });
});

test('dead letters of an incident are its members in its account', async () => {
  const of = (account: string): World =>
    given({
      runs: [run({ dlqId: 'r1', createdAt: NOW - 2 }), run({ dlqId: 'r2', createdAt: NOW - 1 })],
      deadLetters: [deadLetter({ dlqId: 'm1' })],
      overrides: {
        find: (id) => (id === INCIDENT.id ? { ...INCIDENT, account } : undefined),
        memberIds: (_incident, queue) => (queue === 'workflow' ? ['r1'] : []),
      },
    });
  const ids = async (deps: World, id: string) =>
    (await got<List>(deps, `/api/v1/dead-letters?incident=${id}`)).deadLetters.map((one) => one.id);
  expect(await ids(of('production'), INCIDENT.id)).toEqual(['r1']);
  expect(await ids(of('staging'), INCIDENT.id)).toEqual([]);
  expect(await ids(of('production'), 'unknown')).toEqual([]);
});

describe('GET /api/v1/incidents/{id}', () => {
  const members = ['r1', 'r2'];
  const overrides = {
    find: (id: string) => (id === INCIDENT.id ? INCIDENT : undefined),
    incidentOf: (_account: string, _queue: string, id: string) => (members.includes(id) ? INCIDENT.id : undefined),
    memberIds: () => members,
    selectedBy: () => new Map([['resume-billing', 2]]),
    attempts: () => ({ delivered: 1, all: 10 }),
    marks: () => [
      { at: NOW - 86_400_000, kind: 'configuration', detail: 'old' } as const,
      { at: NOW - 3_000_000, kind: 'configuration', detail: 'abc' } as const,
      { at: NOW - 2_900_000, kind: 'configuration', detail: 'def policy a, limits' } as const,
    ],
  };
  const runs = [
    run({ dlqId: 'r1', createdAt: START + 1, labels: ['billing'], flowControlKey: 'mail' }),
    run({ dlqId: 'r2', labels: ['billing', 'eu'] }),
    run({ dlqId: 'other' }),
  ];

  test('has members, policies, plans, destination, its story and the next step', async () => {
    const deps = given({ runs, overrides });
    const storedPlans = async () => [storedPlan({ plan: plan(), targets: ['r1', 'x'] })];
    const { incident } = await got<{ incident: object }>({ ...deps, ledger: ledger({ storedPlans }) }, ONE);
    expect(incident).toMatchObject({
      labels: [
        { name: 'billing', count: 2 },
        { name: 'eu', count: 1 },
      ],
      flowControlKeys: [{ name: 'mail', count: 1 }],
      destination: { host: 'shop.example', delivered: 1, attempts: 10 },
      sample: { id: 'r1' },
      policies: [{ name: 'resume-billing', selects: 2, effectiveMode: 'enforce' }],
      plans: [{ id: '9f3c2a', members: 1 }],
      endedCampaigns: ['resume-billing/1'],
      memberIds: { workflow: ['r2', 'r1'], message: [] },
      selection: { account: 'production', action: 'resume', queue: 'workflow', ids: ['r2', 'r1'] },
      next: { command: 'opsd approve 9f3c2a', by: 'operator' },
    });
    const texts = (incident as { story: { text: string }[] }).story.map(({ text }) => text);
    expect(texts).toContain('The configuration of the daemon changed: policy a, limits');
    expect(texts.join()).toContain('made the plan 9f3c2a');
    // A hash says nothing.
    expect(texts.join()).not.toMatch(/abc|def|old/);
  });

  test.each([
    ['of a policy that selects members, by workflow', { group: 'https://shop.example/flows/checkout' }, 1],
    ['of a policy that selects members, by destination', { group: 'shop.example' }, 1],
    ['that resumed members', { id: 'resume-billing/1', policy: 'other', group: '' }, 1],
    ['of another workflow', { group: 'https://shop.example/flows/invoice' }, 0],
    ['of a policy that selects no member', { policy: 'other', group: 'shop.example' }, 0],
  ])('shows a campaign %s: %j', async (_what, campaign, count) => {
    const status: CampaignStatus = {
      id: 'resume-billing/9',
      policy: 'resume-billing',
      account: 'production',
      state: 'settling',
      step: 1,
      size: 1,
      begunAt: NOW,
      halts: 0,
      recent: [],
      judged: 0,
      verified: 0,
      breaker: 'closed',
      ...campaign,
    };
    const deps = { ...given({ runs, overrides }), policies: async () => [{ ...RESUME_BILLING, campaigns: [status] }] };
    const { incident } = await got<{ incident: { campaigns: unknown[] } }>(deps, ONE);
    expect(incident.campaigns).toHaveLength(count);
  });

  test('an unknown incident is not found', async () => {
    expect(await asked(given({ overrides }), '/api/v1/incidents/zzzz')).toMatchObject({ status: 404 });
  });
});

describe('POST /api/v1/acknowledge', () => {
  const viewer = { name: 'bob', role: 'viewer', token: Secret.of('viewer-token') } as const;

  async function post(incident: Incident, body: unknown, bearer = 'operator-token', route = 'acknowledge') {
    const acknowledged: unknown[] = [];
    const deps = given({
      overrides: {
        find: (id) => (id === incident.id ? incident : undefined),
        acknowledge: async (one, person) => {
          acknowledged.push([one.id, person]);
          return { ...one, state: 'acknowledged', acknowledged: { ...person, at: NOW } };
        },
      },
    });
    const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
    const request = { method: 'POST', headers, body: JSON.stringify(body) };
    const answer = await asked({ ...deps, tokens: [ANNA, viewer] }, `/api/v1/${route}`, request);
    return { ...answer, acknowledged };
  }

  test('records the operator and the note', async () => {
    const { status, body, acknowledged } = await post(INCIDENT, { incident: INCIDENT.id, note: 'vendor called' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ incident: { state: 'acknowledged' } });
    expect(acknowledged).toEqual([[INCIDENT.id, { by: 'anna', note: 'vendor called' }]]);
  });

  test.each([
    ['a viewer', 403, {}, {}, 'viewer-token'],
    ['no note', 400, {}, { note: undefined }],
    ['an unknown incident', 404, {}, { incident: 'zzzz' }],
    ['a resolved incident', 409, { state: 'resolved' } as const, {}],
  ])('rejects %s', async (_what, status, incident, body, bearer?: string) => {
    const answer = await post({ ...INCIDENT, ...incident }, { incident: INCIDENT.id, note: 'x', ...body }, bearer);
    expect(answer.status).toBe(status);
    expect(answer.acknowledged).toEqual([]);
  });

  const hour = 3_600_000;
  test.each([
    ['2h', { until: NOW + 2 * hour }],
    ['90d', { until: NOW + 2160 * hour }],
    [String(NOW + 1), { until: NOW + 1 }],
    [new Date(NOW + hour).toISOString(), { until: NOW + hour }],
    ['deploy', { untilDeploy: true }],
  ])('snoozes until %s', async (until, end) => {
    const { status, body, acknowledged } = await post(INCIDENT, { incident: INCIDENT.id, until }, undefined, 'snooze');
    expect(status).toBe(200);
    expect(body).toMatchObject({ incident: { acknowledged: { by: 'anna', note: '', ...end } } });
    expect(acknowledged).toEqual([[INCIDENT.id, { by: 'anna', note: '', ...end }]]);
  });

  test.each([
    ['a viewer', 403, {}, {}, 'viewer-token'],
    ['no end', 400, {}, { until: undefined }],
    ['an empty note', 400, {}, { note: ' ' }],
    ['no time', 400, {}, { until: 'deployed' }],
    ['now', 400, {}, { until: String(NOW) }],
    ['a time in the past', 400, {}, { until: '2020-01-01' }],
    ['a time far ahead', 400, {}, { until: '91d' }],
    ['an unknown incident', 404, {}, { incident: 'zzzz' }],
    ['a resolved incident', 409, { state: 'resolved' } as const, {}],
  ])('snoozes nothing for %s', async (_what, status, incident, body, bearer?: string) => {
    const asked = { incident: INCIDENT.id, until: '2h', note: 'x', ...body };
    const answer = await post({ ...INCIDENT, ...incident }, asked, bearer, 'snooze');
    expect(answer.status).toBe(status);
    expect(answer.acknowledged).toEqual([]);
  });
});
