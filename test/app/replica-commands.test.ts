/** Commands, pauses and hooks at a replica that does not own the account, over a real database. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Daemon } from '#app/options.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { all, run } from '#storage/database.ts';
import type { PostgresDatabase } from '#storage/postgres/postgres-database.ts';
import { opsd } from '../cli/terminal.ts';
import { SERVERS, urlOf } from '../support/postgres/servers.ts';
import { emptyDatabase, opened } from '../support/postgres/test-databases.ts';
import { daemonOf } from '../support/process-daemon.ts';
import { failedRuns, trigger, TEST_TOKEN, type Service } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { testEmulator } from '../support/test-emulator.ts';
import { httpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';

/** The real server, if it is installed: several connections at the same time. */
const server = SERVERS.at(-1)!;

beforeAll(async () => void (await urlOf(server)));

const policy = (name: string, more: string): string => `
  - name: ${name}
    account: production
    ${more}
    select: { resource: workflow-dlq, anyLabel: [${name}] }
    action: { type: workflow-dlq.resume, retries: 0 }
    ramp: { settle: 1s }`;

interface World {
  readonly service: Service;
  readonly database: PostgresDatabase;
  /** Replica that owns `production`, and the other one. */
  readonly owner: Daemon;
  readonly other: Daemon;
  readonly ownerName: string;
  readonly fail: (label: string) => Promise<void>;
  readonly post: (at: Daemon, path: string, body: unknown, role?: string) => Promise<Response>;
}

async function world(): Promise<World> {
  const emulator = await testEmulator();
  const service = { url: emulator.url, token: TEST_TOKEN };
  const url = await emptyDatabase(server);
  const folder = tempDir();
  for (const role of ['operator', 'admin']) writeFileSync(join(folder, `${role}-token`), `${role}-secret`);
  writeFileSync(join(folder, 'token'), TEST_TOKEN);
  const daemons = new Map<string, Daemon>();
  for (const name of ['one', 'two']) {
    const file = join(folder, `${name}.yaml`);
    writeFileSync(
      file,
      `
server:
  listen: "127.0.0.1:0"
  tokens: [{ name: op, role: operator, tokenFile: operator-token }, { name: ad, role: admin, tokenFile: admin-token }]
storage: { postgres: { url: "${url}", replica: ${name}, leaseFor: 10s } }
hooks: { listen: "127.0.0.1:0", alertmanager: { am: { token: am-secret } } }
accounts:
  - name: production
    messageApi: { url: "${service.url}", tokenFile: token }
    managementApi: { url: "${service.url}", accountId: acc-1, username: user, password: password }
    collectors: { logs: { every: 1s, lag: 1s }, workflowDlq: { every: 1s } }
  - name: staging
    messageApi: { url: "${service.url}", token: ${TEST_TOKEN} }
policies:${policy('approved', 'mode: approve\n    every: 1s')}${policy('alerted', 'mode: enforce\n    on: { alert: Down }')}
`,
    );
    daemons.set(name, await startDaemon(file, join(folder, name)));
  }
  const database = opened(url);
  const ownerName = await until({ what: 'each account has an owner that takes commands' }, async () => {
    const rows = await database.read(
      all(`SELECT r.name FROM leases l JOIN replicas r ON r.id = l.owner
           JOIN command_keys k ON k.account = l.account AND k.epoch = l.epoch WHERE l.account = 'production'`),
    );
    return rows[0] && String(rows[0]['name']);
  });
  const destination = await httpSink((_request, response) => void response.writeHead(503).end());
  let failed = 0;
  return {
    service,
    database,
    owner: daemons.get(ownerName)!,
    other: daemons.get(ownerName === 'one' ? 'two' : 'one')!,
    ownerName,
    async fail(label) {
      failed += 1;
      await trigger(service, `${destination.url}/${label}`, { 'Svc-Retries': '0', 'Svc-Label': label });
      await until({ what: 'the run has failed' }, async () => (await failedRuns(service)).length === failed);
    },
    post: (at, path, body, role = 'operator') =>
      fetch(`${at.address}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${role}-secret`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  };
}

async function startDaemon(path: string, folder: string): Promise<Daemon> {
  // The sockets of two replicas on one machine.
  const daemon = await daemonOf(path, { settings: { localPath: join(folder, 'opsd.db') }, settleMs: 1_000 });
  onTestFinished(() => daemon[Symbol.asyncDispose]());
  return daemon;
}

test('any replica takes commands, and the owner of the account runs them', async () => {
  const { owner, other, ownerName, service, database, post, fail } = await world();
  const canary = 'canary-91be7c';

  // A plan of a policy that only the owner has.
  await fail('approved');
  const planned = await until({ what: 'the owner has read the DLQ' }, async () => {
    const answer = await post(other, '/api/v1/plan', { policy: 'approved' });
    const plan = (await answer.json()) as { matched: number };
    return answer.status === 200 && plan.matched === 1 && plan;
  });
  expect(planned).toMatchObject({ policy: 'approved', account: 'production' });
  const unknown = await post(other, '/api/v1/plan', { policy: 'aproved' });
  expect([unknown.status, await unknown.json()]).toMatchObject([404, { error: { code: 'unknown_policy' } }]);

  // An ambiguous selection must not mean the only account of one replica.
  const selected = { selection: { action: 'resume', label: ['approved'] }, reason: 'test' };
  const ambiguous = await post(other, '/api/v1/plan', selected);
  expect([ambiguous.status, await ambiguous.json()]).toMatchObject([400, { error: { code: 'bad_selection' } }]);

  // An approval: the owner acts.
  const pending = await until({ what: 'a plan is pending approval' }, async () => {
    const rows = await database.read(all(`SELECT id FROM plans WHERE state = 'pending'`));
    return rows[0] && String(rows[0]['id']);
  });
  const approved = await post(other, '/api/v1/approve', { plan: pending });
  expect([approved.status, await approved.json()]).toMatchObject([200, { plan: { state: 'approved' } }]);
  await until({ what: 'the owner has resumed the run' }, async () => {
    const rows = await database.read(all(`SELECT id FROM intents WHERE policy = 'approved'`));
    return rows.length === 1;
  });
  const again = await post(other, '/api/v1/approve', { plan: pending });
  expect([again.status, await again.json()]).toMatchObject([409, { error: { code: 'decided' } }]);

  // Operations, with the statuses and roles of the owner itself.
  const publish = { account: 'production', destination: 'http://127.0.0.1:9/x', body: canary };
  const sent = await post(other, '/api/v1/operations/publish', publish);
  expect([sent.status, await sent.text()]).toMatchObject([200, expect.stringContaining('messageId')]);
  const wrong = await post(other, '/api/v1/operations/publish', { account: 'production' });
  expect([wrong.status, await wrong.json()]).toMatchObject([400, { error: { code: 'bad_request' } }]);
  const byFilter = { account: 'production', label: ['other'] };
  const forbidden = await post(other, '/api/v1/operations/resume-workflow-dlq', byFilter);
  expect([forbidden.status, await forbidden.json()]).toMatchObject([403, { error: { code: 'forbidden' } }]);
  const none = await post(other, '/api/v1/operations/list-workflow-dlq', {});
  expect([none.status, await none.json()]).toMatchObject([400, { error: { code: 'bad_request' } }]);
  const listed = await post(other, '/api/v1/operations/list-workflow-dlq', { account: 'production' });
  expect(listed.status).toBe(200);
  const rotated = await post(other, '/api/v1/operations/rotate-token', { account: 'production' }, 'admin');
  expect([rotated.status, await rotated.text()]).toEqual([409, expect.stringContaining(ownerName)]);
  expect(await contentOf(database)).not.toContain(canary);

  // A pause that cannot be stored holds only here until the store is back.
  await database.transaction(run('ALTER TABLE pauses RENAME TO pauses_away'));
  const alone = await post(other, '/api/v1/pause', { reason: 'without the store' });
  expect([alone.status, await alone.json()]).toMatchObject([
    503,
    {
      error: {
        code: 'store_unavailable',
        message: 'The store is unavailable, so engine is paused only on this replica. Pause it on the others as well.',
      },
    },
  ]);
  await database.transaction(run('ALTER TABLE pauses_away RENAME TO pauses'));
  const stored = await post(other, '/api/v1/pause', { reason: 'without the store' });
  expect(stored.status).toBe(200);
  expect((await post(other, '/api/v1/unpause', { reason: 'the store is back' }, 'admin')).status).toBe(200);

  // A pause: the owner shows it, and lifts it.
  const paused = await post(other, '/api/v1/pause', { reason: 'by the other replica' });
  expect(paused.status).toBe(200);
  const { policies } = (await (await fetch(`${owner.address}/api/v1/policies`)).json()) as { policies: object[] };
  expect(policies).toContainEqual(
    expect.objectContaining({ name: 'alerted', reducedBy: expect.stringContaining('by the other replica') }),
  );
  const lifted = await post(other, '/api/v1/unpause', { reason: 'over' }, 'admin');
  expect(await lifted.json()).toEqual({ lifted: 1 });

  // An alert: the owner runs its policy at once.
  await fail('alerted');
  const alert = {
    version: '4',
    alerts: [
      {
        status: 'firing',
        labels: { alertname: 'Down', account: 'production' },
        startsAt: new Date().toISOString(),
        fingerprint: 'f1',
      },
    ],
  };
  const hooked = await fetch(`${other.hooks}/hooks/alertmanager/am`, {
    method: 'POST',
    headers: { authorization: 'Bearer am-secret', 'content-type': 'application/json' },
    body: JSON.stringify(alert),
  });
  expect(hooked.status).toBe(202);
  await until({ what: 'the owner runs the policy of the alert' }, async () => {
    const rows = await database.read(all(`SELECT id FROM intents WHERE policy = 'alerted'`));
    return rows.length === 1;
  });
  // The intent is written before the request, and the resumed run fails again.
  await until({ what: 'both runs have failed again' }, async () => (await failedRuns(service)).length === 2);

  // The audit log in the database, found over the socket.
  const { socketPath } = other;
  const records = await opsd(['audit', '--policy', 'alerted', '--socket', socketPath], { clock: systemClock });
  expect(records).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('alerted') as string });
  const verified = await opsd(['audit', 'verify', '--socket', socketPath], { clock: systemClock });
  expect(verified).toMatchObject({ code: 0, stderr: '' });
  expect(verified.stdout).toMatch(/^table audit of \S+ is intact: .*\n.*compared with the head of the running daemon/);

  // A restored database holds all policies until one replica adopts it.
  await database.transaction(run(`INSERT INTO meta (key, value) VALUES ('must_adopt', 'restored from a backup')`));
  const modeAt = async (at: Daemon) => {
    const shown = (await (await fetch(`${at.address}/api/v1/policies`)).json()) as { policies: PolicyStatus[] };
    return shown.policies.find(({ name }) => name === 'alerted')?.effectiveMode;
  };
  await until({ what: 'the owner holds' }, async () => (await modeAt(owner)) === 'audit');
  const adopted = await opsd(['state', 'adopt', '--reason', 'compared', '--socket', socketPath], {
    clock: systemClock,
  });
  expect(adopted).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/^Adopted\. The store was not trusted: restored from a backup/) as string,
  });
  await until({ what: 'the owner acts again' }, async () => (await modeAt(owner)) === 'enforce');
  expect(owner.address).not.toBe(other.address);
});

test('a replica that cannot listen takes no account', async () => {
  const taken = await httpSink((_request, response) => void response.end());
  const url = await emptyDatabase(server);
  const file = join(tempDir(), 'opsd.yaml');
  writeFileSync(
    file,
    `server: { listen: "${new URL(taken.url).host}" }
storage: { postgres: { url: "${url}" } }
accounts: [{ name: production, messageApi: { url: "${taken.url}", token: token } }]
`,
  );
  await expect(startDaemon(file, tempDir())).rejects.toThrow(/server\.listen/);
  expect(await opened(url).read(all(`SELECT to_regclass('leases') AS leases`))).toEqual([{ leases: null }]);
});

/** Returns everything that the database contains, as text. */
async function contentOf(database: PostgresDatabase): Promise<string> {
  const tables = await database.read(
    all(`SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()`),
  );
  const texts: string[] = [];
  for (const { table_name: table } of tables) {
    for (const row of await database.read(all(`SELECT * FROM ${String(table)}`))) {
      const values = Object.values(row);
      texts.push(
        ...values.map((one) => (one instanceof Uint8Array ? Buffer.from(one).toString('latin1') : String(one))),
      );
    }
  }
  return texts.join('\n');
}
