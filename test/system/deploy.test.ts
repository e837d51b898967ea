/** From the report of a deploy to the repaired runs: over the service, through kill -9, with each run resumed once. */
import { expect, test } from 'vitest';
import { daemonConfig, daemonWorld, type DaemonWorld } from '../support/daemon-world.ts';
import { scrape } from '../support/exposition.ts';
import { freePort } from '../support/free-port.ts';
import { failedRuns, trigger } from '../support/service.ts';
import { until } from '../support/until.ts';

const TOKEN = 'canary-deploy-token-9e';
const COUNT = 2;

async function failWith400({ destination, service }: DaemonWorld): Promise<void> {
  destination.answerWith((_request, response) => void response.writeHead(400).end('bad field'));
  for (let index = 0; index < COUNT; index += 1) {
    await trigger(service, `${destination.url}/order`, { 'Svc-Retries': '0', 'Svc-Label': 'orders' });
  }
  await until({ what: 'the runs have failed' }, async () => (await failedRuns(service)).length === COUNT);
}

test('what a deploy fixed is resumed once, and a deploy that fixed nothing costs one canary', async () => {
  const w = await daemonWorld();
  await failWith400(w);
  const hooks = `http://127.0.0.1:${await freePort()}`;
  const config = daemonConfig(w.proxy.url, {
    account: { collectors: { workflowDlq: { every: '1s', full: '10s' } } },
    hooks: { listen: new URL(hooks).host, deploy: { token: '${env:DEPLOY_TOKEN}' } },
    policies: [
      {
        name: 'resume-after-deploy',
        account: 'production',
        mode: 'enforce',
        on: { deploy: true, after: '1s' },
        select: { resource: 'workflow-dlq', anyLabel: ['orders'] },
        limits: { attempts: { max: 3, backoff: ['12h'] } },
        ramp: { settle: '1s' },
        action: { type: 'workflow-dlq.resume' },
      },
    ],
  });
  const report = (version: string) =>
    fetch(`${hooks}/hooks/deploy`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${TOKEN}` },
      body: JSON.stringify({ of: [w.destination.url], version }),
    });
  const { daemon, url } = await w.start(config, { DEPLOY_TOKEN: TOKEN });

  // Fixes nothing. The report is stored when the hook has answered.
  expect((await report('v42')).status).toBe(202);
  daemon.kill('SIGKILL');
  await daemon.ended;
  const again = await w.start(config, { DEPLOY_TOKEN: TOKEN });
  const policy = async () => {
    const answer = await fetch(`${again.url}/api/v1/policies/resume-after-deploy`);
    return (await answer.json()) as { policy: { campaigns: readonly { state: string; reason?: string }[] } };
  };
  await until({ what: 'the halt' }, async () => (await policy()).policy.campaigns[0]?.state === 'halted');
  expect((await policy()).policy.campaigns[0]?.reason).toBe('not fixed by v42: the canary failed: 1 of 1');
  expect(w.resumes()).toHaveLength(1);

  w.destination.answerWith((_request, response) => void response.end('ok'));
  const reported = await w.command('deploy', 'v43', '--of', w.destination.url, '--url', 'https://ci.example.com/43');
  expect(reported.stdout).toContain('1 policy waits for it: resume-after-deploy');
  await until({ what: 'all runs are repaired' }, async () => (await failedRuns(w.service)).length === 0);
  expect(w.resumes()).toHaveLength(COUNT + 1);
  expect(new Set(w.resumes()).size).toBe(COUNT + 1);

  const samples = await scrape(again.url);
  for (const version of ['v42', 'v43']) {
    const labels = { account: 'production', of: w.destination.url, version };
    expect(samples.value('opsd_deploy_timestamp_seconds', labels)).toBeGreaterThan(1_700_000_000);
  }
  const history = await fetch(`${again.url}/api/v1/history?span=1h`);
  const { marks } = (await history.json()) as { marks: readonly { kind: string; text: string; path?: string }[] };
  expect(marks.filter(({ kind }) => kind === 'deploy').map(({ text, path }) => [text, path])).toEqual([
    [`v42 was deployed: ${w.destination.url}`, undefined],
    [`v43 was deployed: ${w.destination.url}`, 'https://ci.example.com/43'],
  ]);
  expect(url).not.toBe('');
  for (const program of [daemon, again.daemon]) expect(program.stdout() + program.stderr()).not.toContain(TOKEN);
});
