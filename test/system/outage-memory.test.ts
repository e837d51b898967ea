/** What is known about a destination survives `kill -9`, a reload, and a takeover by another replica. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { OutageView } from '#operate/situation/outages.ts';
import { addressOf, daemonWorld, repairConfig } from '../support/daemon-world.ts';
import { SERVERS } from '../support/postgres/servers.ts';
import { emptyDatabase } from '../support/postgres/test-databases.ts';
import { publish } from '../support/service.ts';
import { until } from '../support/until.ts';

interface Shown {
  readonly verdict: { readonly level: string };
  readonly outages: readonly OutageView[];
  readonly accounts: readonly { readonly lease?: { readonly isOwn: boolean; readonly epoch: number } }[];
}

interface Policies {
  readonly policies: readonly { readonly held?: { readonly guard: string } }[];
}

const read = async <T>(url: string, path: string) => (await fetch(`${url}/api/v1/${path}`)).json() as Promise<T>;
const shown = async (url: string): Promise<Shown> => read(url, 'status');

test('a failing destination stays failing, since the same time, and gets no canary', async () => {
  const world = await daemonWorld();
  const titles = async (url: string) =>
    (await read<{ incidents: readonly { title: string }[] }>(url, 'incidents')).incidents.map(({ title }) => title);

  const { daemon: first, url } = await world.start(repairConfig(world, { mode: 'audit', every: '1h' }));
  await until({ what: 'the first readings are done' }, async () => (await shown(url)).verdict.level === 'ok');
  for (let n = 0; n < 25; n++) await publish(world.service, `${world.destination.url}/hook`, { 'Svc-Retries': '0' });
  const outage = await until({ what: 'the outage is known' }, async () => {
    const [one] = (await shown(url)).outages;
    return one?.failed === 25 && one;
  });
  await until({ what: 'the incident counts them' }, async () =>
    (await titles(url)).some((title) => title.includes('25 delivery attempts')),
  );
  await first.crash();

  // One old run: only the state of its destination keeps the policy from resuming it.
  await world.failRuns(1, 'billing');
  const second = world.run(repairConfig(world, { mode: 'enforce', every: '1s' }));
  const again = await addressOf(second);
  const isSame = ({ outages: [one] }: Shown) => one?.since === outage.since && one.failed >= 25;
  expect(isSame(await shown(again))).toBe(true);
  // The old run was one more attempt.
  expect((await titles(again)).join('\n')).toMatch(/2[56] delivery attempts/);
  await until({ what: 'the policy is held' }, async () => {
    const { policies } = await read<Policies>(again, 'policies');
    return policies[0]?.held?.guard === 'destination';
  });

  world.write(repairConfig(world, { mode: 'enforce', every: '2s' }));
  second.kill('SIGHUP');
  await until({ what: 'the new configuration runs' }, () => second.said('daemon running').length === 2);
  expect(isSame(await shown(again))).toBe(true);
  const resumes = world.proxy.passed.filter(({ url: path }) => path.startsWith('/v2/workflows/dlq/resume'));
  expect(resumes).toEqual([]);
  await second.stop();
});

test('a replica that takes an account over knows the destination as failing, and holds a resume', async () => {
  const world = await daemonWorld();
  const urlFile = join(world.folder, 'url');
  writeFileSync(urlFile, await emptyDatabase(SERVERS.at(-1)!), { mode: 0o600 });
  const postgres = `postgres: { urlFile: ${JSON.stringify(urlFile)}, leaseFor: 2s, replica: "\${env:REPLICA}" }`;
  const config = repairConfig(world, { mode: 'enforce', every: '1s' }).replace(/sqlite: \{.*?\}/, postgres);
  const start = async (name: string) => {
    const program = world.run(config, { REPLICA: name, OPSD_STORE: join(world.folder, `${name}.db`) });
    return { program, url: await addressOf(program) };
  };
  const replicas = await Promise.all(['a', 'b'].map(start));
  const isOwner = async ({ url }: (typeof replicas)[number]) => (await shown(url)).accounts[0]?.lease?.isOwn === true;
  const [owner, other] = await until({ what: 'one replica to own the account, and to have read it' }, async () => {
    const [isFirst, isSecond] = await Promise.all(replicas.map(isOwner));
    const [owned, rest] = isFirst === true ? replicas : replicas.toReversed();
    return isFirst !== isSecond && (await shown(owned!.url)).verdict.level === 'ok' && [owned!, rest!];
  });
  for (let n = 0; n < 25; n++) await publish(world.service, `${world.destination.url}/hook`, { 'Svc-Retries': '0' });
  const outage = await until({ what: 'the outage is known' }, async () => {
    const [one] = (await shown(owner.url)).outages;
    return one?.failed === 25 && one;
  });
  await owner.program.crash();

  // One old run: only the state of its destination keeps the policy from resuming it.
  await world.failRuns(1, 'billing');
  await until({ what: 'the other replica to take the account over' }, () => isOwner(other));
  await until({ what: 'its policy to be held' }, async () => {
    const { policies } = await read<Policies>(other.url, 'policies');
    return policies[0]?.held?.guard === 'destination';
  });
  const [known] = (await shown(other.url)).outages;
  expect(known?.since).toBe(outage.since);
  expect(known?.failed).toBeGreaterThanOrEqual(25);
  expect(world.proxy.passed.filter(({ url: path }) => path.startsWith('/v2/workflows/dlq/resume'))).toEqual([]);
  await other.program.stop();
});
