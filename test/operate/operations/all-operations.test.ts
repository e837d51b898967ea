/** Every operation through `opsd api`, and its output compared with the service's own response. */
import { describe, expect, test } from 'vitest';
import { operationsWorld, type OperationsWorld, type Role } from './world.ts';

const OPERATION_COUNT = 20;

interface Case {
  readonly operation: string;
  readonly words: (world: Seeded) => readonly string[];
  /** Request that the service must get. */
  readonly sends: (world: Seeded) => string;
  /** Role that the API requires. */
  readonly role: Role;
}

interface Seeded extends OperationsWorld {
  readonly deadLetter: string;
  readonly failedRun: string;
  readonly otherRun: string;
  readonly index: string;
}

const url = (text: string): string => encodeURIComponent(text);

const CASES: readonly Case[] = [
  {
    operation: 'add-endpoints',
    words: ({ front }) => ['urlGroupName=orders', `endpoints=[{"url":"${front.url}/hook","name":"one"}]`],
    sends: () => 'POST /v2/topics/orders/endpoints',
    role: 'operator',
  },
  { operation: 'list-url-groups', words: () => [], sends: () => 'GET /v2/topics', role: 'viewer' },
  {
    operation: 'list-logs',
    words: () => ['state=ERROR', 'count=5', 'label=billing,other'],
    sends: () => 'GET /v2/logs?state=ERROR&count=5&label=billing&label=other',
    role: 'operator',
  },
  {
    operation: 'publish',
    words: () => [
      'destination=http://127.0.0.1:9/hook?a=1',
      'body=hello',
      'retries=0',
      'label=a,b',
      'forwardMyHeader=x',
    ],
    sends: () => 'POST /v2/publish/http://127.0.0.1:9/hook?a=1',
    role: 'operator',
  },
  {
    operation: 'trigger',
    words: () => ['workflowUrl=http://127.0.0.1:9/workflow', 'body={}', 'workflowRunId=run-1', 'retries=0'],
    sends: () => 'POST /v2/trigger/http://127.0.0.1:9/workflow',
    role: 'operator',
  },
  {
    operation: 'list-workflow-dlq',
    words: () => ['label=billing', 'failureFunctionState=CALLBACK_FAIL,CALLBACK_SUCCESS'],
    sends: () =>
      'GET /v2/workflows/dlq?label=billing&failureFunctionState=CALLBACK_FAIL&failureFunctionState=CALLBACK_SUCCESS',
    role: 'operator',
  },
  {
    operation: 'resume-workflow-dlq',
    words: ({ failedRun }) => [`dlqIds=${failedRun}`, 'retries=1', 'overrideLabel=again'],
    sends: ({ failedRun }) => `POST /v2/workflows/dlq/resume?dlqIds=${url(failedRun)}`,
    role: 'operator',
  },
  {
    operation: 'delete-workflow-dlq',
    words: ({ otherRun }) => [`dlqIds=["${otherRun}"]`],
    sends: ({ otherRun }) => `DELETE /v2/workflows/dlq?dlqIds=${url(otherRun)}`,
    role: 'operator',
  },
  {
    operation: 'delete-dlq',
    words: ({ deadLetter }) => [`dlqIds=${deadLetter}`],
    sends: ({ deadLetter }) => `DELETE /v2/dlq?dlqIds=${url(deadLetter)}`,
    role: 'operator',
  },
  {
    operation: 'get-flow-control',
    words: () => ['flowControlKey=tenant-14'],
    sends: () => 'GET /v2/flowControl/tenant-14',
    role: 'viewer',
  },
  {
    operation: 'move-to-team',
    words: () => ['target_team_id=team-1', '--confirm=production'],
    sends: () => 'POST /v2/msgsvc/move-to-team',
    role: 'admin',
  },
  {
    operation: 'set-plan',
    words: () => ['plan_name=msgsvc_fixed_10m', '--confirm=production'],
    sends: () => 'POST /v2/msgsvc/set-plan/acc-1',
    role: 'admin',
  },
  {
    operation: 'rotate-token',
    words: () => ['--confirm=production'],
    sends: () => 'POST /v2/msgsvc/rotate-token/acc-1',
    role: 'admin',
  },
  {
    operation: 'update-budget',
    words: () => ['budget=100', '--confirm=production'],
    sends: () => 'PATCH /v2/msgsvc/update-budget/acc-1',
    role: 'operator',
  },
  {
    operation: 'get-account-stats',
    words: () => ['period=1d'],
    sends: () => 'GET /v2/msgsvc/stats/acc-1?period=1d',
    role: 'viewer',
  },
  {
    operation: 'create-index',
    words: () => ['name=products', 'region=eu-west-1', 'type=payg'],
    sends: () => 'POST /v2/search',
    role: 'operator',
  },
  {
    operation: 'get-index',
    words: ({ index }) => [`id=${index}`],
    sends: ({ index }) => `GET /v2/search/${index}`,
    role: 'viewer',
  },
  {
    operation: 'rename-index',
    words: ({ index }) => [`id=${index}`, 'name=catalog'],
    sends: ({ index }) => `POST /v2/search/${index}/rename`,
    role: 'operator',
  },
  {
    operation: 'transfer-index',
    words: ({ index }) => [`id=${index}`, 'target_account=acc-2', '--confirm=books'],
    sends: ({ index }) => `POST /v2/search/${index}/transfer`,
    role: 'admin',
  },
  {
    operation: 'get-vector-stats',
    words: () => ['id=vec-1', 'period=3h'],
    sends: () => 'GET /v2/vector/index/vec-1/stats?period=3h',
    role: 'viewer',
  },
];

async function seeded(): Promise<Seeded> {
  const world = await operationsWorld();
  const runs = [1, 2].map((n) => ({ url: `http://127.0.0.1:9/workflow/${n}`, labels: ['billing'], status: 503 }));
  const { dlqIds, indexIds } = await world.service.control.seed({
    account: 'acc-1',
    indexes: [{ name: 'books' }],
    vectorIndexes: ['vec-1'],
    deadLetters: [{ url: 'http://127.0.0.1:9/hook', status: 500 }],
    failedRuns: runs,
  });
  await world.direct('POST', '/v2/publish/http://127.0.0.1:9/x', {
    headers: { 'Svc-Flow-Control-Key': 'tenant-14', 'Svc-Flow-Control-Value': 'parallelism=2', 'Svc-Retries': '0' },
  });
  await world.service.idle();
  const [deadLetter = '', failedRun = '', otherRun = ''] = dlqIds;
  return Object.assign(world, { deadLetter, failedRun, otherRun, index: indexIds[0]! });
}

/** The service's response without the secrets that must not leave the daemon. */
const masked = (body: string): string =>
  body.replaceAll(/("(?:read_only_)?token":\s*)"[^"]*"/g, (_all, key: string) => `${key}"[secret]"`);

test('the table has every operation', () => {
  expect(new Set(CASES.map(({ operation }) => operation)).size).toBe(OPERATION_COUNT);
});

describe.each(CASES)('$operation', ({ operation, words, sends, role }) => {
  test('prints the service’s response unchanged', async () => {
    const world = await seeded();
    const { code, stdout, stderr } = await world.api([operation, ...words(world), '--yes', '-o', 'json']);
    expect([code, stderr.includes('opsd: ')], stderr).toEqual([0, false]);
    const sent = sends(world);
    const answer = world.exchanged.findLast(({ method, url: path }) => `${method} ${path}` === sent);
    expect(answer, JSON.stringify(world.exchanged.map((one) => `${one.method} ${one.url}`))).toBeDefined();
    expect(stdout).toBe(masked(answer!.body));
    const [method = '', path = ''] = sent.split(' ');
    if (method === 'GET') expect(stdout).toBe(masked(await world.direct(method, path)));
    expect(JSON.stringify([stdout, stderr, world.log])).not.toMatch(/test-token|-secret"/);
  });

  test(`requires the role ${role}`, async () => {
    const world = await seeded();
    const keys = Object.fromEntries(
      words(world)
        .filter((word) => !word.startsWith('--'))
        .map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]),
    );
    const roles: readonly Role[] = ['viewer', 'operator', 'admin'];
    const before = world.exchanged.length;
    for (const lesser of roles.slice(0, roles.indexOf(role))) {
      const refused = await world.post(lesser, operation, keys);
      expect([refused.status, await refused.text()]).toEqual([
        403,
        expect.stringContaining(`The role ${role} is required`),
      ]);
      expect(await world.audit()).toEqual([]);
      const sent = sends(world);
      expect(world.exchanged.slice(before).map((one) => `${one.method} ${one.url}`)).not.toContain(sent);
    }
    const isWrite = !sends(world).startsWith('GET');
    const least = operation === 'update-budget' ? 'admin' : role;
    const confirm = operation === 'transfer-index' ? 'books' : 'production';
    const allowed = await world.post(least, operation, { ...keys, confirm });
    expect(allowed.status, await allowed.clone().text()).toBe(200);
    const records = (await world.audit()).map(({ type, operation: name, account, by, outcome }) => ({
      type,
      name,
      account,
      by,
      outcome,
    }));
    expect(records).toEqual(
      isWrite
        ? [
            { type: 'operation.begun', name: operation, account: 'production', by: `a-${least}`, outcome: undefined },
            { type: 'operation.ended', name: operation, account: 'production', by: undefined, outcome: 'accepted' },
          ]
        : [],
    );
  });
});
