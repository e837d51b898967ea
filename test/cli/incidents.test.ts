/** `opsd incidents` and `opsd dlq list|show`, against a real server. */
import { expect, test } from 'vitest';
import type { Incident } from '#foundation/domain/incident.ts';
import { formatTime } from '#foundation/domain/time-text.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { deadLetter, run } from '../observe/incidents/planted.ts';
import { incidents, ledger, NOW, RESUME_BILLING, serving, storedPlan, world } from '../operate/http/world.ts';
import { opsd } from './terminal.ts';
import { LOCAL_USER } from '../support/local-user.ts';

const MINUTE = 60_000;

const INCIDENT: Incident = {
  id: '3f2a91bc0d',
  account: 'production',
  kind: 'workflow',
  place: 'shop.example/flows/checkout',
  reason: 'HTTP 503: upstream # is unavailable',
  cause: 'transient',
  state: 'open',
  firstAt: NOW - 90 * MINUTE,
  lastAt: NOW - 2 * MINUTE,
  openedAt: NOW - 89 * MINUTE,
  now: { workflow: 2, message: 0 },
  ever: 5,
  expired: 1,
  rate: { from: NOW - 90 * MINUTE, stepMs: 4 * MINUTE, counts: [4, 0, 1] },
  campaigns: [],
  aliases: [],
};

const RUNS: readonly WorkflowDlqEntry[] = [
  run({ dlqId: 'dlq-1', createdAt: NOW - 90 * MINUTE, labels: ['billing'], responseText: 'upstream\u001B[2J gone' }),
  run({ dlqId: 'dlq-2', createdAt: NOW - 2 * MINUTE, labels: ['billing'], flowControlKey: 'mail' }),
];

interface Options {
  readonly incident?: Incident | undefined;
  readonly policies?: readonly (typeof RESUME_BILLING)[];
  readonly plans?: readonly ReturnType<typeof storedPlan>[];
  readonly retention?: number;
  /** The daemon has not read the workflow DLQ yet, and knows nothing. */
  readonly isUnread?: true;
}

async function daemon(options: Options = {}) {
  const { incident = INCIDENT, policies = [], plans = [], retention = 3 * 86_400_000, isUnread = false } = options;
  const acknowledged: unknown[] = [];
  const deps = world({
    accounts: [{ name: 'production', dlqRetentionMs: retention }],
    policies: async () => policies,
    ledger: ledger({ storedPlans: async () => plans }),
    incidents: incidents({
      all: () => (isUnread ? [] : [incident, { ...incident, id: 'aaaa000000', state: 'resolved' }]),
      find: (id) => (incident.id.startsWith(id) ? incident : undefined),
      firstExpiresAt: () => NOW - 90 * MINUTE + retention,
      incidentOf: (_account, queue) => (queue === 'workflow' ? incident.id : undefined),
      memberIds: (_incident, queue) => (queue === 'workflow' ? RUNS.map(({ dlqId }) => dlqId) : []),
      deadLetters: () => (isUnread ? [] : [deadLetter({ dlqId: 'msg-dlq-1', learnedAt: NOW - MINUTE })]),
      selectedBy: () => new Map(policies.map(({ name }) => [name, 2])),
      attempts: () => ({ delivered: 1, all: 10 }),
      readRow: () => Promise.resolve({ body: 'hello', header: { Authorization: 'Bearer hunter2' } }),
      acknowledge: async (one, person) => {
        acknowledged.push(person);
        return { ...one, state: 'acknowledged', acknowledged: { ...person, at: NOW } };
      },
    }),
  });
  deps.register('workflowDlq');
  if (!isUnread) deps.publish('workflowDlq', RUNS);
  return { deps, acknowledged };
}

async function ran(args: readonly string[], options: Options = {}) {
  const { deps, acknowledged } = await daemon(options);
  const { address } = await serving(deps, { socketPath: `${(await import('../support/temp-dir.ts')).tempDir()}/s` });
  const { code, stdout, stderr } = await opsd([...args, '--socket', address]);
  return {
    code,
    stdout,
    stderr: stderr.replaceAll(address, 'SOCKET'),
    plain: stdout.replaceAll(address, 'SOCKET'),
    acknowledged,
  };
}

test.each([['incidents'], ['incidents list']])('%s lists the unresolved incidents', async (command) => {
  const { code, stdout, stderr } = await ran(command.split(' '));
  expect(stdout).toBe(
    'ID          STATE  NOW  SINCE           LAST       EXPIRES      PLACE                        REASON\n' +
      '3f2a91bc0d  open     2  1 h 30 min ago  2 min ago  in 2 d 23 h  shop.example/flows/checkout  HTTP 503: upstream # is unavailable\n',
  );
  expect([code, stderr]).toEqual([0, '']);
});

const UNLISTED: Incident = {
  ...INCIDENT,
  kind: 'destination',
  place: 'crm.vendor.example',
  now: { workflow: 0, message: 0 },
  ever: 0,
  expired: 0,
  deliveries: { failed: 55, lost: 19, since: NOW - 90 * MINUTE, isSinceKnown: false, lastAt: NOW, isFailing: true },
};

test('dead letters of a queue that cannot be listed are at least the known ones, never zero', async () => {
  const listed = await ran(['incidents', '-o', 'wide'], { incident: UNLISTED });
  expect(listed.stdout).toMatch(/\n3f2a91bc0d +open +≥0 +≥0 /);
  const { stdout } = await ran(['incidents', 'show', '3f2a'], { incident: UNLISTED });
  expect(stdout).toContain(
    '  at least 0 known (0 runs, 0 messages; 0 ever, 0 expired) (only known ones; more are possible: ',
  );
  expect(stdout).toMatch(/First failure .*\(1 h 30 min ago\) \(or earlier\)\n/);
  expect(listed.stdout).toContain(' ≥1 h 30 min ago ');
});

test('incidents --all also lists resolved ones, and -o name prints ids', async () => {
  expect((await ran(['incidents', '--all', '-o', 'name'])).stdout).toBe('3f2a91bc0d\naaaa000000\n');
  expect((await ran(['incidents', '--state', 'resolved', '-o', 'name'])).stdout).toBe('aaaa000000\n');
});

test('incidents show is the sheet of the incident, with commands for this daemon', async () => {
  const { code, plain, stderr } = await ran(['incidents', 'show', '3f2a']);
  await expect(plain).toMatchFileSnapshot('../fixtures/show/incident.txt');
  expect([code, stderr]).toEqual([0, '']);
});

test('incidents show has the policies that select members, and active approvals', async () => {
  const approved = { state: 'approved', by: 'ada', approvedBy: 'ada', approvedAt: NOW, left: 1 } as const;
  const { plain } = await ran(['incidents', 'show', '3f2a'], {
    policies: [RESUME_BILLING],
    plans: [storedPlan({ ...approved, targets: ['dlq-1', 'dlq-2', 'dlq-3'] })],
  });
  await expect(plain).toMatchFileSnapshot('../fixtures/show/incident-approved.txt');
});

test('an unknown incident is an error with the next step', async () => {
  const { code, stderr } = await ran(['incidents', 'show', 'zzzz']);
  expect(code).toBe(1);
  expect(stderr).toContain('Incident zzzz does not exist');
});

test('incidents acknowledge sends the note', async () => {
  const { code, stdout, acknowledged } = await ran(['incidents', 'acknowledge', '3f2a', '--note', 'vendor called']);
  expect([code, stdout]).toEqual([
    0,
    'Acknowledged incident 3f2a91bc0d: 2 runs of shop.example/flows/checkout failed: HTTP 503\n',
  ]);
  expect(acknowledged).toEqual([{ by: LOCAL_USER, note: 'vendor called' }]);
});

test.each([
  [
    ['--until', '2h', '--note', 'ticket 4711'],
    { until: NOW + 7_200_000, note: 'ticket 4711' },
    formatTime(NOW + 7_200_000),
  ],
  [['--until-deploy'], { untilDeploy: true, note: '' }, 'a deploy of shop.example/flows/checkout'],
])('incidents snooze %j', async (args, end, until) => {
  const { code, stdout, acknowledged } = await ran(['incidents', 'snooze', '3f2a', ...args]);
  expect([code, stdout]).toEqual([
    0,
    `Snoozed incident 3f2a91bc0d until ${until}: 2 runs of shop.example/flows/checkout failed: HTTP 503\n`,
  ]);
  expect(acknowledged).toEqual([{ by: LOCAL_USER, ...end }]);
});

test.each([
  ['1970-01-01', 'until must be in the future, and at most 90 days ahead.'],
  ['soon', 'until must be deploy, epoch milliseconds (13 digits), ISO 8601, or a duration from now such as 2h'],
])('incidents snooze --until %s is an error', async (until, message) => {
  const { code, stderr, acknowledged } = await ran(['incidents', 'snooze', '3f2a', '--until', until]);
  expect([code, acknowledged]).toEqual([1, []]);
  expect(stderr).toContain(message);
});

test('lists and the sheet show a snooze, and who snoozed it until when', async () => {
  const acknowledged = { by: 'anna', note: 'fixed by v42', at: NOW, untilDeploy: true };
  const incident: Incident = { ...INCIDENT, state: 'acknowledged', acknowledged };
  const text = 'snoozed by anna until a deploy of shop.example/flows/checkout: fixed by v42';
  const wide = await ran(['incidents', '-o', 'wide'], { incident });
  expect(wide.stdout).toMatch(/\n3f2a91bc0d +snoozed /);
  expect(wide.stdout).toContain(text);
  expect((await ran(['incidents', 'show', '3f2a'], { incident })).stdout).toContain(`  ${text}\n`);
  expect((await ran(['status'], { incident })).stdout).toContain('(production), snoozed, since');
  const ended = { ...incident, state: 'open', acknowledged: { ...acknowledged, endedAt: NOW } } as const;
  expect((await ran(['incidents', '-o', 'wide'], { incident: ended })).stdout).not.toContain('anna');
});

test.each([['incidents'], ['incidents list'], ['dlq list']])(
  '%s before the first reading: nothing is known, which is not none',
  async (command) => {
    for (const format of [[], ['-o', 'name']]) {
      const { code, stdout, stderr } = await ran([...command.split(' '), ...format], { isUnread: true });
      expect([code, stdout]).toEqual([3, '']);
      expect(stderr).toBe('Dead letters may be missing or old: production, workflow DLQ: not read yet\n');
    }
    expect((await ran([...command.split(' '), '-o', 'json'], { isUnread: true })).code).toBe(3);
  },
);

test('dlq list has both queues, newest first', async () => {
  const { code, stdout, stderr } = await ran(['dlq', 'list']);
  expect(stdout.split('\n').map((line) => line.slice(0, 40).trimEnd())).toEqual([
    'ID         FAILED          EXPIRES',
    'msg-dlq-1  1 min ago       in 3 d',
    'dlq-2      2 min ago       in 3 d',
    'dlq-1      1 h 30 min ago  in 2 d 23 h',
    '',
  ]);
  expect([code, stderr]).toEqual([0, '']);
});

test.each([
  [['--queue', 'message'], ['msg-dlq-1']],
  [
    ['--incident', '3f2a'],
    ['dlq-2', 'dlq-1'],
  ],
  [['--flow-control-key', 'mail'], ['dlq-2']],
  [['--response-status', '500', '--response-status', '404'], ['msg-dlq-1']],
  [['--destination', 'https://crm.vendor.example/hooks/orders'], ['msg-dlq-1']],
  [['--since', '10m', '--queue', 'workflow'], ['dlq-2']],
  [['--until', '10m'], ['dlq-1']],
  [['--cause', 'permanent'], []],
])('dlq list %j', async (filter, ids) => {
  const { stdout } = await ran(['dlq', 'list', '-o', 'name', ...filter]);
  expect(stdout).toBe(ids.map((id) => `${id}\n`).join(''));
});

test('dlq list says how many match beyond the limit', async () => {
  const { stdout, stderr } = await ran(['dlq', 'list', '--limit', '1', '-o', 'name']);
  expect(stdout).toBe('msg-dlq-1\n');
  expect(stderr).toBe('The first 1; more with --limit.\n3 dead letters match.\n');
});

test('dlq show is the sheet of the dead letter, without control characters; the body only with --body', async () => {
  const { stdout } = await ran(['dlq', 'show', 'dlq-1']);
  await expect(stdout).toMatchFileSnapshot('../fixtures/show/dead-letter.txt');
  const { stdout: body } = await ran(['dlq', 'show', 'dlq-1', '--body']);
  expect(body).toContain('\nHeaders\n  {\n    "Authorization": "[secret]"\n  }\n\nBody\n  hello\n');
  const { stdout: whole } = await ran(['dlq', 'show', 'dlq-1', '--body', '-o', 'json']);
  expect(JSON.parse(whole)).toMatchObject({ sample: { body: 'hello', headers: { Authorization: '[secret]' } } });
});
