/** Daemons for looking at pages: one without data, a busy one, and one with hostile texts. */
import { hashSync } from 'bcryptjs';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import type { Incident } from '#foundation/domain/incident.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { FlowControlHistory } from '#observe/observations/flow-control-history.ts';
import type { ReadingPorts } from '#operate/api/reading-ports.ts';
import { ListenerSecurity } from '#operate/http/listener-security.ts';
import { busyWorld, POLICY, RUN } from '../http/busy-world.ts';
import { LiveReads } from '#operate/api/live-reads.ts';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import { allCanaries } from '../../support/canaries.ts';
import { emptyPorts } from '../../support/reading-ports.ts';
import {
  action,
  ask,
  engine,
  incidents,
  ledger,
  NOW,
  plan,
  proposal,
  serving,
  storedPlan,
  world,
  type World,
} from '../http/world.ts';

export const OPERATOR = { user: 'olga', password: 'pass:word' };
const HASH = hashSync(OPERATOR.password, 4);

/** Users of every world: an admin and a viewer. */
export function withUsers(): Partial<World> {
  const users = new Map([OPERATOR.user, 'vera'].map((name) => [name, Secret.of(HASH)]));
  const security = new ListenerSecurity({ headers: {}, users, digest: '' }, new ManualClock(NOW));
  return { security, roles: new Map([[OPERATOR.user, 'admin']]) };
}

export const basicOf = (user: string): string =>
  `Basic ${Buffer.from(`${user}:${OPERATOR.password}`).toString('base64')}`;

/** Pages and forms of a daemon, for one of its users. */
export async function browserOf(deps: World, user = OPERATOR.user) {
  const { address } = await serving(deps);
  const headers = { Accept: 'text/html', Authorization: basicOf(user) };
  const page = async (path: string): Promise<string> => (await ask(address, path, { headers })).text;
  const post = async (path: string, fields: Readonly<Record<string, string>> | [string, string][]) => {
    const csrf = /name="csrf" value="(\w+)"/.exec(await page('/'))![1]!;
    const body = new URLSearchParams(fields);
    body.set('csrf', csrf);
    const form = { ...headers, 'Content-Type': 'application/x-www-form-urlencoded' };
    return ask(address, path, { method: 'POST', headers: form, body: body.toString() });
  };
  return { address, page, post };
}

export const emptyWorld = (): World => world(withUsers());

const GROUP = 'https://app.example.com/api/workflows/invoice';

/** @param text replaces every text of the service and of the configuration */
function fullWorld(text: (plain: string) => string): World {
  const conditions = [
    {
      key: `halted/resume-billing/${GROUP}`,
      severity: 'critical' as const,
      policy: 'resume-billing',
      group: text(GROUP),
      summary: text('resume-billing has halted'),
      detail: text('3 of the first 3 resumed runs failed again with 503'),
      since: NOW - 300_000,
    },
    {
      key: 'held/prune-old',
      severity: 'warning' as const,
      policy: 'prune-old',
      summary: 'prune-old is held',
      detail: text('more messages fail than usual: 312 in 5 minutes'),
      since: NOW - 3_000_000,
    },
  ];
  const entry = proposal({ workflowUrl: text(GROUP), target: text('dlq-8812'), cause: text('transient') });
  const made = plan({
    needsApproval: { guard: 'tripwire', reason: text('183 matched, at most 100') },
    chosen: Array.from({ length: 30 }, () => entry),
    checks: [
      { guard: 'destination', passed: true, reason: text('app.example.com 0.97 of 312') },
      { guard: 'arrivals', passed: false, reason: text('42 in 5 minutes, at most 20') },
    ],
    skipped: [{ guard: 'where', reason: text('permanent 400'), count: 6 }],
    notes: [text('The entries go unseen: their labels are not in the log.')],
    campaigns: [
      { group: text(GROUP), state: 'ready', step: 2, now: 3, next: [9, 27], verified: 1, judged: 1, matched: 183 },
    ],
    drain: { ms: 7_200_000, expiring: 4 },
  });
  const waiting = storedPlan({ plan: made, by: text('alice'), reason: text('the database is back') });
  const approved = storedPlan({
    plan: {
      ...made,
      id: 'a4c7d1',
      state: 'held',
      stopped: { guard: 'destination', reason: text('0.63 of 43 attempts succeeded') },
    },
    state: 'approved',
    targets: ['dlq-58', 'dlq-8813', 'dlq-8814'],
    by: text('alice'),
    approvedBy: text('alice'),
    approvedAt: NOW - 600_000,
    left: 2,
  });
  const campaign = {
    id: 'resume-billing/1',
    policy: 'resume-billing',
    account: 'production',
    group: text(GROUP),
    state: 'halted' as const,
    step: 4,
    size: 27,
    begunAt: NOW - 3_600_000,
    until: NOW + 1_500_000,
    halts: 1,
    recent: [],
    judged: 16,
    verified: 13,
    reason: text('3 of the last 3 failed'),
    breaker: 'open' as const,
  };
  const held = { guard: 'arrivals', reason: text('312 in 5 minutes'), since: NOW - 600_000 };
  const policies = ['resume-billing', 'prune-old', 'resume-onboarding'].map((name, index) => ({
    ...POLICY,
    name,
    description: text('Billing runs get more tries.'),
    owner: text('payments'),
    ...(index === 0 && { campaigns: [campaign], held }),
  }));
  const runs = Array.from({ length: 20 }, (_, index) => ({
    ...RUN,
    id: index,
    detail: text('27 of 209 in this step'),
  }));
  const actions = (['accepted', 'verified', 'failed_again', 'unknown', 'rejected', 'unverified'] as const).map(
    (outcome, index) => action({ id: index, outcome, proposal: entry, detail: text('HTTP 202'), newRunId: 'wfr_2' }),
  );
  const { rows, incidents: watch } = failures(text);
  const deps = busyWorld({
    ...withUsers(),
    ...fullPorts(text),
    incidents: watch,
    liveReads: readsOfLog(text),
    policies: async () => policies,
    engine: engine({ conditions: () => conditions, plan: () => Promise.resolve({ ok: true, plan: made }) }),
    ledger: ledger({
      runs: async () => runs,
      lastRuns: async () => [RUN, { ...RUN, policy: 'prune-old', outcome: 'held', detail: text('arrivals') }],
      recentActions: async () => actions,
      storedPlans: async (states) => [waiting, approved].filter(({ state }) => states.includes(state)),
      storedPlan: async (id) => (id === 'gone' ? undefined : id === 'a4c7d1' ? approved : waiting),
      actionsOf: async () => [action({ proposal: proposal({ target: 'dlq-58' }), outcome: 'verified' })],
      pauses: async () => [{ scope: 'policy/prune-old', reason: text('migration'), at: NOW - 900_000, by: 'alice' }],
    }),
    outages: (account) =>
      account === 'staging'
        ? []
        : [
            {
              host: text('crm.vendor.example'),
              since: NOW - 1_080_000,
              isSinceKnown: true,
              failed: 4_210,
              delivered: 0,
              lost: 212,
              lastAt: NOW - 30_000,
              reasons: [{ reason: text('HTTP 503'), count: 4_210 }],
            },
          ],
    labels: () => [
      {
        account: 'production',
        label: text('destination'),
        max: 2,
        shown: 2,
        configured: 0,
        hidden: 3,
        overflowAmount: 1_300,
        largestOverflow: [{ value: text('other.example'), count: 1_250, over: 50 }],
      },
    ],
  });
  const days = Array.from({ length: 20 }, (_, index) => ({ at: NOW - (20 - index) * 86_400_000, value: 9 + index }));
  const statistics = {
    spend: { monthUsd: 212.4, last24hUsd: 28.1, medianDayUsd: 17, forecastUsd: 455.2, exhaustedAt: NOW + 500_000_000 },
    dailyBillings: days,
    dailyRequests: days,
  };
  const reconciled = [
    {
      state: 'CREATED' as const,
      hour: NOW - 5_400_000,
      logs: 1_200,
      statistics: 1_200,
      agrees: true,
      isLasting: false,
    },
    { state: 'ERROR' as const, hour: NOW - 5_400_000, logs: 2_000, statistics: 500, agrees: false, isLasting: true },
  ];
  deps.publish('accountStats', [{ ...statistics, reconciled }]);
  deps.publish('workflowDlq', rows);
  const keys = [
    {
      flowControlKey: text('vendor'),
      waitListSize: 48,
      parallelismMax: 10,
      parallelismCount: 10,
      rateMax: 100,
      rateCount: 12,
    },
    { flowControlKey: 'vendor', waitListSize: 7, isPaused: true, isPinnedRate: true, isDiscovered: true as const },
    { flowControlKey: 'mail', waitListSize: 0, parallelismMax: 5, parallelismCount: 1 },
  ];
  deps.publish('flowControl', keys);
  return deps;
}

/** Live reads of a log with one message that failed twice. @param text as in `fullWorld` */
function readsOfLog(text: (plain: string) => string): LiveReads {
  const sent = { messageId: 'msg_1', url: text('https://crm.vendor.example/hook'), labels: [text('billing')] };
  const entries: readonly LogEntry[] = [
    { ...sent, time: NOW - 60_000, state: 'FAILED', responseStatus: 503, error: text('upstream is unavailable') },
    { ...sent, time: NOW - 90_000, state: 'ERROR', responseStatus: 503, error: text('upstream is unavailable') },
    { ...sent, time: NOW - 91_000, state: 'ACTIVE' },
    { ...sent, time: NOW - 92_000, state: 'CREATED', traceparent: text('00-1') },
  ];
  return new LiveReads({
    clock: new ManualClock(NOW),
    messageApi: () => ({
      listLogs: () => Promise.resolve({ value: entries, dropped: 0 }),
      listWorkflowDlq: () => Promise.resolve({ value: [], dropped: 0 }),
    }),
    usage: () => undefined,
  });
}

/** Incidents, and the dead letters of both queues. @param text as in `fullWorld` */
function failures(text: (plain: string) => string): Pick<World, 'incidents'> & { readonly rows: WorkflowDlqEntry[] } {
  const incident: Incident = {
    id: '3f2a91bc0d',
    account: 'production',
    kind: 'workflow',
    place: text('shop.example/flows/checkout'),
    reason: text('HTTP 503: upstream # is unavailable'),
    cause: 'transient',
    state: 'open',
    firstAt: NOW - 3_600_000,
    lastAt: NOW - 60_000,
    openedAt: NOW - 3_500_000,
    now: { workflow: 60, message: 1 },
    ever: 64,
    expired: 3,
    rate: { from: NOW - 3_600_000, stepMs: 240_000, counts: [3, 0, 2, 14, 22, 9, 4, 6] },
    campaigns: [],
    aliases: [],
  };
  const acknowledged = { by: 'alice', note: text('vendor called'), at: NOW - 600_000 };
  const second: Incident = { ...incident, id: '77', state: 'acknowledged', acknowledged, kind: 'destination' };
  const rows = Array.from({ length: 60 }, (_, index) => ({
    // The first one has the same address in all worlds.
    dlqId: index === 0 ? 'dlq-0' : text(`dlq-${index}`),
    workflowRunId: text(`wfr_${index}`),
    workflowUrl: text('https://shop.example/flows/checkout'),
    createdAt: NOW - 3_600_000 + index * 1_000,
    labels: [text('billing')],
    responseStatus: 503,
    responseText: text('upstream 10.0.0.7 is unavailable'),
    flowControlKey: text('vendor'),
  }));
  const letter = {
    account: 'production',
    dlqId: text('dlq-m1'),
    messageId: text('msg-1'),
    url: text('https://crm.vendor.example/hook'),
    labels: [],
    status: 500,
    learnedAt: NOW - 900_000,
  };
  return {
    rows,
    incidents: incidents({
      all: () => [incident, second],
      find: (id) => (id === '77' ? second : incident),
      incidentOf: () => '3f2a91bc0d',
      memberIds: (_incident, queue) => (queue === 'workflow' ? rows : [letter]).map(({ dlqId }) => dlqId),
      firstExpiresAt: () => NOW + 7_200_000,
      deadLetters: (account) => (account === 'production' ? [letter] : []),
      marks: () => [{ at: NOW - 3_000_000, kind: 'configuration', detail: '9f3c2a' }],
      attempts: () => ({ delivered: 3, all: 312 }),
      selectedBy: () => new Map([['resume-billing', 60]]),
    }),
  };
}

/** Ports with spend, keys, records and a configuration. @param text as in `fullWorld` */
function fullPorts(text: (plain: string) => string): ReadingPorts {
  const flowControlHistory = new FlowControlHistory();
  for (let step = 0; step < 40; step++) {
    const row = { flowControlKey: text('vendor'), waitListSize: Math.round(50 + 50 * Math.sin(step / 4)) };
    flowControlHistory.take('production', NOW - step * 180_000, [row, { flowControlKey: 'vendor', waitListSize: 7 }]);
  }
  const record = {
    sequence: 812,
    time: '2026-11-18T10:29:00.000Z',
    store: 's',
    opening: 1,
    previous: '',
    hash: '9f3c2a'.padEnd(64, '0'),
    type: 'plan.decided',
    state: 'approved',
    covers: 12,
    policy: text('resume-billing'),
    by: text('alice'),
    reason: text('the database is back'),
    plan: text('9f3c2a'),
  };
  const yaml = `accounts:\n  - name: production\n    messageApi: { url: https://eu.example, token: "[secret]" }\n    note: ${text('x')}\n`;
  return {
    ...emptyPorts(),
    flowControlHistory,
    canaries: { states: () => allCanaries(NOW, text) },
    spend: {
      budgets: async () => {
        const known = { knownUsd: 400, origin: 'configuration', maxAgeMs: 604_800_000 } as const;
        const changes = [{ at: NOW - 86_400_000, fromUsd: 300, toUsd: 400, outcome: 'verified' }];
        const budget = { known: { ...known, assertedAt: NOW - 86_400_000 }, changes };
        return new Map(['production', 'staging'].map((account) => [account, budget]));
      },
      dimensions: async () => {
        const counts = [{ value: text('acme'), states: { DELIVERED: 812 } }];
        return new Map(['production', 'staging'].map((account) => [account, { name: text('customer'), counts }]));
      },
    },
    audit: {
      search: () =>
        Promise.resolve({
          records: Array.from({ length: 30 }, (_, index) => ({
            ...record,
            sequence: 812 - index,
            plan: `${record.plan}${index >> 1}`,
          })),
          damaged: 0,
          cursor: '1.2',
        }),
      verify: () => Promise.resolve({ records: 812, isTorn: false, head: { sequence: 812, hash: record.hash } }),
    },
    configuration: () => ({
      hash: '9f3c2a'.padEnd(64, '0'),
      files: ['/etc/opsd/opsd.yaml', text('/etc/opsd/policies/billing.yaml')],
      settings: {},
      yaml: yaml.split('\n'),
      policies: [{ name: text('resume-billing'), source: text('opsd.yaml:9') }],
      reload: { ok: false, goodAt: NOW - 60_000, problems: [text('opsd.yaml:3:5: unknown key')], auditOnly: true },
    }),
    policyTests: () =>
      Promise.resolve({
        file: text('/etc/opsd/policies/billing_test.yaml'),
        tests: [
          { name: text('a canary goes first'), line: 9 },
          { name: text('a halt'), line: 21, failed: text('line 30: outcome') },
        ],
      }),
    policyScopes: async () => ({ present: { match: text('a') }, atLastRun: { match: text('b') } }),
  };
}

export const busy = (): World => fullWorld((plain) => plain);

/** Markup, a long word, controls that reverse the direction of text, and 10 kB in one text. */
const HOSTILE = [
  `<script>document.title = 'owned'</script><img src=x onerror="document.title='owned'">`,
  'x'.repeat(400),
  '\u202Egnp.exe\u2066\u0000\u0007',
  'a long text of many words '.repeat(380),
];

/** Every rotation has another hostile text at each place. */
export const ROTATIONS = [...HOSTILE.keys()];

export function hostileWorld(rotation = 0): World {
  let next = rotation;
  return fullWorld((plain) => `${plain} ${HOSTILE[next++ % HOSTILE.length]}`);
}

/** Addresses of the pages in these worlds. */
export const PAGES = [
  '/',
  '/incidents',
  '/incidents/3f2a91bc0d',
  '/dead-letters?cause=transient',
  '/dead-letters/dlq-0?account=production',
  '/messages',
  '/messages?account=production&messageId=msg_1',
  '/messages/msg_1?account=production',
  '/canaries',
  '/flow-control',
  '/spend',
  '/policies',
  '/policies/resume-billing?tests=run',
  '/plans/9f3c2a',
  '/plans/a4c7d1',
  '/audit',
  '/audit/verify',
  '/search?q=app.example.com',
  '/search?q=nothing%20of%20this',
  '/sources',
  '/configuration',
  '/nothing',
];
