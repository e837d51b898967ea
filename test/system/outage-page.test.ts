/** A planted outage on the page, in the API and in the metrics: one destination responds 503 to everything. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { OutageView } from '#operate/situation/outages.ts';
import { openTab, type Tab } from '../support/browser-tab.ts';
import { daemonConfig, daemonWorld, QUICK, resumeBilling } from '../support/daemon-world.ts';
import { httpSink } from '../support/http-sink.ts';
import { installed } from '../support/program.ts';
import { publish } from '../support/service.ts';
import { until } from '../support/until.ts';

const RUNS = 240;

const POLICY = resumeBilling({
  every: '2s',
  // All runs have failed before the first is resumed.
  select: { resource: 'workflow-dlq', anyLabel: ['billing'], failedBefore: '30s' },
});

interface Shown {
  readonly verdict: { readonly level: string; readonly sentence: string };
  readonly outages: readonly OutageView[];
}

test.each([
  ['without a policy', [], /no policy resumes its failed runs/],
  ['with a policy', [POLICY], /resume-billing (?:waits until|halted its repair here)/],
])('%s the verdict names the destination first, and the healthy one not at all', async (name, policies, reaction) => {
  const world = await daemonWorld();
  const healthy = await httpSink((_request, response) => void response.end('{}'));
  const { daemon, url } = await world.start(
    daemonConfig(world.proxy.url, { account: { ...QUICK, limits: { dlqRetention: '7d' } }, policies }),
  );
  const status = async (): Promise<Shown> => (await fetch(`${url}/api/v1/status`)).json() as Promise<Shown>;
  await until({ what: 'the first readings are done' }, async () => (await status()).verdict.level === 'ok');

  for (let n = 0; n < 30; n++) await publish(world.service, `${healthy.url}/ok`);
  await world.failRuns(RUNS, 'billing');
  const host = new URL(world.destination.url).host;
  await until({ what: 'the outage is shown whole' }, async () => {
    const [outage] = (await status()).outages;
    return (
      outage?.failedRuns === RUNS &&
      outage.lost >= RUNS &&
      outage.reactions.length === policies.length &&
      outage.reactions.every(({ text }) => reaction.test(`resume-billing ${text}`))
    );
  });

  const { verdict, outages } = await status();
  expect(outages).toHaveLength(1);
  expect(outages[0]).toMatchObject({ account: 'production', destination: host, delivered: 0 });
  expect(outages[0]!.reasons[0]).toMatchObject({ reason: 'HTTP 503' });
  expect(outages[0]!.failed).toBeGreaterThanOrEqual(RUNS);
  expect(outages[0]!.firstExpiresAt! - outages[0]!.oldestFailedAt!).toBe(7 * 86_400_000);
  expect(verdict.level).toBe('trouble');
  expect(verdict.sentence).toMatch(new RegExp(`^${host} answers 503 to everything (?:since|for at least) `));
  expect(verdict.sentence).toContain(`${RUNS} failed runs`);
  expect(verdict.sentence).toMatch(reaction);

  const chromium = installed('chromium');
  if (chromium !== undefined) {
    const tab = await openTab(chromium);
    expect(await tab.html(`${url}/`)).toContain(`${host} answers 503 to everything`);
    await pictures(tab, name.replaceAll(' ', '-'));
  }

  // The destination has recovered: its deliveries end the outage.
  world.destination.answerWith((_request, response) => void response.end('{}'));
  await until({ what: 'the outage is over' }, async () => {
    for (let n = 0; n < 30; n++) await publish(world.service, `${world.destination.url}/ok`);
    return (await status()).outages.length === 0;
  });
  await daemon.stop();
});

/** Writes pictures for a review, if a folder is given. */
async function pictures(tab: Tab, name: string): Promise<void> {
  const folder = process.env['PICTURES'];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  for (const [width, height] of [
    [1300, 900],
    [390, 844],
  ] as const) {
    await tab.view({ width, height });
    await tab.picture(join(folder, `outage-${name}-${width}.png`), height);
  }
}
