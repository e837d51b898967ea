/** Pages and API of two replicas over one database: each shows all accounts, with their owners. */
import { expect, test } from 'vitest';
import { addressOf, daemonWorld } from '../support/daemon-world.ts';
import { ask } from '../operate/http/world.ts';
import { opsd } from '../support/program.ts';
import { SERVERS } from '../support/postgres/servers.ts';
import { emptyDatabase } from '../support/postgres/test-databases.ts';
import { until } from '../support/until.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ACCOUNTS = ['alpha', 'beta', 'gamma', 'delta'];
const RUNS = 6;

interface Lease {
  readonly replica?: string;
  readonly epoch: number;
  readonly isOwn: boolean;
}
interface Status {
  readonly replica: string;
  readonly verdict: { readonly sentence: string };
  readonly accounts: readonly { readonly name: string; readonly lease?: Lease; readonly usage: readonly object[] }[];
}
interface DeadLetters {
  readonly total: number;
  readonly deadLetters: readonly { readonly id: string; readonly account: string; readonly incident?: string }[];
}

const json = async <T>(address: string, path: string): Promise<T> =>
  (await fetch(`${address}/api/v1/${path}`)).json() as Promise<T>;
const page = async (address: string, path: string): Promise<string> => (await fetch(`${address}${path}`)).text();

/** Owners by account, as a replica shows them. */
const ownersOn = async (address: string): Promise<readonly (string | undefined)[]> =>
  (await json<Status>(address, 'status')).accounts.map(({ lease }) => lease?.replica);

test('each replica shows all accounts with their owners, also those of a dead one', async () => {
  const world = await daemonWorld();
  const { service, folder } = world;
  const url = await emptyDatabase(SERVERS.at(-1)!);
  await world.failRuns(RUNS, 'billing');

  async function replica(name: string) {
    const file = join(folder, `${name}.yaml`);
    writeFileSync(file, configuration({ name, url, service: service.url }));
    const program = opsd(['run', '--config', file], { env: { OPSD_STORE: join(folder, name, 'opsd.db') } });
    return { name, program, address: await addressOf(program), socket: join(folder, name, 'opsd.db.sock') };
  }
  const one = await replica('one');
  const other = await replica('other');
  await until({ what: 'each replica owns accounts' }, async () => {
    const owners = await ownersOn(other.address);
    return !owners.includes(undefined) && new Set(owners).size === 2;
  });

  const seen = await until({ what: 'both replicas show the same' }, async () => {
    const [a, b] = await Promise.all([one, other].map(async ({ address }) => shownBy(address)));
    return (
      a!.total === RUNS * ACCOUNTS.length && a!.grouped === a!.total && JSON.stringify(a) === JSON.stringify(b) && a
    );
  });
  expect(seen.sources.filter((text) => text.endsWith(' ok')).length).toBeGreaterThanOrEqual(2 * ACCOUNTS.length);
  expect(seen.policies).toEqual(ACCOUNTS.map((account) => `resume-${account} audit`));

  const { replica: name, accounts } = await json<Status>(other.address, 'status');
  expect(name).toBe('other');
  for (const { lease, usage } of accounts) {
    expect(lease!.isOwn).toBe(lease!.replica === 'other');
    expect(usage.length).toBeGreaterThan(0);
  }
  // No replica exports what another one owns.
  const exported = await Promise.all(
    [one, other].map(async ({ address }) => {
      const text = await page(address, '/metrics');
      return ACCOUNTS.filter((account) => text.includes(`msgsvc_workflow_dlq_runs{account="${account}"`));
    }),
  );
  expect(exported.flat().toSorted()).toEqual(ACCOUNTS.toSorted());
  const text = await page(other.address, '/sources');
  for (const word of ['Owner', 'one', 'other (this replica)', 'replica other']) expect(text).toContain(word);

  // The owner sends what the other replica wants to read, and counts it.
  const elsewhere = accounts.find(({ lease }) => !lease!.isOwn)!.name;
  const { deadLetters } = await json<DeadLetters>(other.address, `dead-letters?account=${elsewhere}`);
  const { id, incident } = deadLetters[0]!;
  const read = await ask(other.socket, `/api/v1/dead-letters/${id}?account=${elsewhere}&body=true`);
  expect(read.status, read.text).toBe(200);
  expect(JSON.parse(read.text)).toMatchObject({ deadLetter: { id }, sample: { headers: expect.anything() as object } });
  const log = await ask(other.socket, `/api/v1/messages?account=${elsewhere}`);
  expect(log.status, log.text).toBe(200);
  expect((JSON.parse(log.text) as { messages: readonly object[] }).messages.length).toBeGreaterThan(0);
  const known = await ask(other.socket, '/api/v1/acknowledge', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ incident, note: 'known' }),
  });
  expect(known.status, known.text).toBe(200);
  for (const { address } of [one, other]) {
    await until({ what: 'the incident is acknowledged on both' }, async () => {
      const found = await json<{ incident: { state: string } }>(address, `incidents/${incident}`);
      return found.incident.state === 'acknowledged';
    });
  }

  one.program.kill('SIGKILL');
  // Its accounts stay visible, with ages that grow.
  expect((await json<DeadLetters>(other.address, 'dead-letters')).total).toBe(RUNS * ACCOUNTS.length);
  await until({ what: 'the other replica owns all accounts' }, async () =>
    (await ownersOn(other.address)).every((owner) => owner === 'other'),
  );
  await until({ what: 'it shows them from its own memory' }, async () => {
    const now = await shownBy(other.address);
    return now.total === RUNS * ACCOUNTS.length && now.grouped === now.total;
  });
});

/** What a replica shows, apart from times. */
async function shownBy(address: string) {
  const { total, deadLetters } = await json<DeadLetters>(address, 'dead-letters?limit=500');
  const { sources } = await json<{ sources: readonly { account: string; collector: string; state: string }[] }>(
    address,
    'sources',
  );
  const { policies } = await json<{ policies: readonly { name: string; effectiveMode: string }[] }>(
    address,
    'policies',
  );
  const { incidents } = await json<{ incidents: readonly { id: string; state: string }[] }>(address, 'incidents');
  return {
    total,
    grouped: deadLetters.filter(({ incident }) => incident !== undefined).length,
    deadLetters: deadLetters.map(({ id, account, incident }) => `${account} ${id} ${incident}`).toSorted(),
    sources: sources.map(({ account, collector, state }) => `${account} ${collector} ${state}`),
    policies: policies.map(({ name, effectiveMode }) => `${name} ${effectiveMode}`),
    incidents: incidents.map(({ id, state }) => `${id} ${state}`).toSorted(),
  };
}

function configuration({ name, url, service }: { name: string; url: string; service: string }): string {
  const accounts = ACCOUNTS.map(
    (account) => `
  - name: ${account}
    messageApi: { url: "${service}", token: test-token }
    collectors: { workflowDlq: { every: 2s }, logs: { every: 2s } }`,
  );
  const policies = ACCOUNTS.map(
    (account) => `
  - name: resume-${account}
    account: ${account}
    mode: audit
    every: 1h
    select: { resource: workflow-dlq, anyLabel: [billing] }
    action: { type: workflow-dlq.resume, retries: 0 }`,
  );
  return `server: { listen: 127.0.0.1:0 }
storage: { postgres: { url: "${url}", leaseFor: 6s, replica: ${name} } }
accounts:${accounts.join('')}
policies:${policies.join('')}
`;
}
