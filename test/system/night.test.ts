/**
 * A night on call: a destination dies, 200 runs fail. From the commands alone, and again from the pages alone, an
 * operator finds the cause, the number, and the first expiry, makes a plan, applies it, and sees it verified.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runEmulator } from '#emulator/emulator.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { fastClock } from '../support/fast-clock.ts';
import { openTab } from '../support/browser-tab.ts';
import { httpSink } from '../support/http-sink.ts';
import { clockedOpsd, installed, opsd } from '../support/program.ts';
import { failedRuns, publish, TEST_TOKEN, trigger, type Service } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

/** An hour lasts a minute. */
const SPEED = 60;
const RUNS = 200;
const RETENTION_MS = 3 * 86_400_000;
const REASON = 'the ledger is back, ticket 4711';
const OPERATOR = 'operator-token-of-the-night';

/** The daemon without policies, and 200 runs of one workflow that failed because their destination is dead. */
async function deadDestination() {
  const time = { speed: SPEED, since: Date.now() };
  const clock = fastClock(time);
  const emulator = await runEmulator({
    clock,
    random: seededRandom(7),
    listen: { host: '127.0.0.1', port: 0 },
    accounts: [{ id: 'acc-1', token: TEST_TOKEN }],
    management: { username: 'user', password: 'password' },
    onError: (error) => {
      throw error;
    },
  });
  onTestFinished(() => emulator.stop());
  const service: Service = { url: emulator.url, token: TEST_TOKEN };
  const destination = await httpSink((_request, response) => void response.writeHead(503).end('ledger unavailable'));
  const folder = tempDir();
  const file = join(folder, 'opsd.yaml');
  writeFileSync(join(folder, 'operator'), OPERATOR);
  writeFileSync(
    file,
    `
server:
  listen: "127.0.0.1:0"
  tokens: [{ name: night, tokenFile: operator, role: operator }]
storage: { sqlite: { path: opsd.db } }
accounts:
  - name: production
    messageApi: { url: "${service.url}", token: ${TEST_TOKEN} }
    limits: { dlqRetention: 3d }
    client: { requestsPerSecond: 1000, requestsPerDay: 1000000, timeout: 5m }
    collectors: { logs: { every: 30s, lag: 1s }, workflowDlq: { every: 30s, full: 1m } }
`,
  );
  const daemon = clockedOpsd(time, ['run', '--config', file]);
  const url = String((await daemon.logged('daemon running'))['url']);
  const workflow = `${destination.url}/workflow/invoice`;
  for (let first = 0; first < RUNS; first += 20) {
    const headers = { 'Svc-Retries': '0', 'Svc-Label': 'billing' };
    await Promise.all(Array.from({ length: 20 }, () => trigger(service, workflow, headers)));
  }
  const failed = await until({ what: 'the runs have failed' }, async () => {
    const runs = await failedRuns(service);
    return runs.length === RUNS && runs;
  });
  return {
    clock,
    service,
    url,
    workflow,
    daemon,
    firstExpiresAt: Math.min(...failed.map(({ createdAt }) => createdAt)) + RETENTION_MS,
    /** Lets an attempt of other messages fail each minute until the repair: without recent attempts no outage is known. */
    async keepFailing(): Promise<void> {
      for (let minute = 0; minute < 100; minute += 1) {
        const retries = { 'Svc-Retries': '5', 'Svc-Retry-Delay': String(100 * 60_000) };
        await publish(service, `${destination.url}/events`, { 'Svc-Delay': `${minute}m`, ...retries });
      }
    },
    /** Ends the outage, and waits until the failures of it no longer count against the destination. */
    async repair(): Promise<void> {
      destination.answerWith((_request, response) => void response.end('{}'));
      const from = clock.now();
      await until({ what: 'the outage is long over' }, () => clock.now() > from + 16 * 60_000);
    },
    delivered: (): number => destination.requests.filter(({ url: path }) => path === '/workflow/invoice').length - RUNS,
    /** Runs a command as the operator on the daemon's machine. */
    async run(...args: readonly string[]) {
      const program = opsd([...args, '--socket', join(folder, 'opsd.db.sock')], { cwd: folder });
      const { code } = await program.ended;
      return { code, out: program.stdout(), err: program.stderr() };
    },
    async stop(): Promise<void> {
      await daemon.stop();
      expect(daemon.log().filter(({ level }) => level === 'error')).toEqual([]);
    },
  };
}

interface IncidentRow {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly reason: string;
  readonly members: { readonly now: number };
  readonly firstExpiresAt?: number;
}

test('from the commands alone: cause, number, first expiry, plan, verification', async () => {
  const night = await deadDestination();
  const incidents = async (): Promise<readonly IncidentRow[]> =>
    (JSON.parse((await night.run('incidents', 'list', '-o', 'json')).out) as { incidents: readonly IncidentRow[] })
      .incidents;
  const found = await until({ what: 'one incident has all runs' }, async () =>
    (await incidents()).find(({ kind, members }) => kind === 'workflow' && members.now === RUNS),
  );
  // Cause, number and first expiry: as data, and in the words of the screens.
  expect(found).toMatchObject({ state: 'open', firstExpiresAt: night.firstExpiresAt });
  expect(found.reason).toContain('503');
  const status = await night.run('status');
  expect(status).toMatchObject({ code: 3, err: '' });
  expect(status.out).toContain('503');
  const shown = (await night.run('incidents', 'show', found.id)).out;
  expect(shown).toContain('503');
  expect(shown).toContain(String(RUNS));
  expect(shown).toContain(new Date(night.firstExpiresAt).toISOString().slice(0, 10));
  const acknowledged = await night.run('incidents', 'acknowledge', found.id, '--note', 'the ledger team is on it');
  expect(acknowledged.code).toBe(0);

  // While the destination is dead, the plan is held, and nothing is sent. It is unknown until its attempts are counted.
  await night.keepFailing();
  await until({ what: 'the outage is known' }, async () => {
    const { outages } = JSON.parse((await night.run('status', '-o', 'json')).out) as { outages: readonly object[] };
    return outages.length > 0;
  });
  const select = ['dlq', 'resume', '--label', 'billing', '--reason', REASON];
  const held = await night.run(...select, '--yes');
  expect(held.code, held.out + held.err).toBe(3);
  expect(held.out + held.err).toContain('destination');
  expect(night.delivered()).toBe(0);
  expect(held.out).toMatch(/To let runs do it after the hold: opsd approve [0-9a-f]+/);

  await night.repair();
  // The held plan was not approved, so nothing acts after the hold.
  expect(night.delivered()).toBe(0);
  const incident = ['dlq', 'resume', '--incident', found.id, '--reason', REASON];
  const unconfirmed = await night.run(...incident);
  expect(unconfirmed.code).toBe(1);
  expect(unconfirmed.err).toContain('--yes');
  expect(await failedRuns(night.service)).toHaveLength(RUNS);

  const repaired = await night.run(...incident, '--yes', '--wait');
  expect(repaired.code, repaired.out + repaired.err).toBe(0);
  expect(await failedRuns(night.service)).toEqual([]);
  // Each run was delivered once more, not twice.
  await until({ what: 'the destination got all runs' }, () => night.delivered() === RUNS);
  await until({ what: 'the incident is resolved' }, async () =>
    /^State +resolved/m.test((await night.run('incidents', 'show', found.id)).out),
  );
  expect(await incidents()).toEqual([]);
  await night.stop();
});

test('from the pages alone, without a script: cause, number, first expiry, plan, verification', async ({ skip }) => {
  const chromium = installed('chromium');
  if (chromium === undefined) skip('chromium is not installed');
  const night = await deadDestination();
  const tab = await openTab(chromium!);
  // A phone in the dark.
  await tab.view({ width: 390, colors: 'dark', script: false });
  const text = (): Promise<string> => tab.eval<string>('document.querySelector("main").innerText');
  const press = (act: string): Promise<void> => tab.press(`button[name=act][value=${act}]`);

  await tab.open(`${night.url}/sign-in?next=/incidents`);
  await tab.type('input[name=secret]', OPERATOR);
  await tab.press('main form button');
  const href = await until({ what: 'the page has the incident with all runs' }, async () => {
    await tab.open(`${night.url}/incidents`);
    return tab.eval<string | undefined>(
      `[...document.querySelectorAll('main tbody tr')].find((row) => row.innerText.includes('${RUNS} ever'))
        ?.querySelector('a').getAttribute('href')`,
    );
  });
  await tab.press(`main a[href="${href}"]`);
  // Cause, number and first expiry.
  const shown = await text();
  expect(shown).toContain('HTTP 503: ledger unavailable');
  expect(shown).toContain(String(RUNS));
  const expiry = new Date(night.firstExpiresAt).toISOString();
  const times = await tab.eval<string[]>('[...document.querySelectorAll("main time")].map((time) => time.dateTime)');
  expect(times.map((time) => time.slice(0, 16))).toContain(expiry.slice(0, 16));
  await tab.eval(`document.querySelector('main .acts summary').click()`);
  await tab.type('form[aria-label=Acknowledge] input[name=reason]', 'the ledger team is on it');
  await press('acknowledge');
  expect(await text()).toContain('knows: the ledger team is on it');

  await night.repair();
  await tab.open(`${night.url}${href}`);
  await tab.type('form:has(button[value=resume]) input[name=reason]', REASON);
  await press('resume');
  // The plan has done nothing yet. Applying it sends the first run only.
  expect(await text()).toContain('nothing has been done');
  expect(night.delivered()).toBe(0);
  const plan = await tab.eval<string>('location.pathname');
  await press('apply');
  expect(await tab.eval('location.pathname')).toBe(plan);
  await until({ what: 'the page shows that all runs are verified' }, async () => {
    await tab.open(`${night.url}${plan}`);
    return /finished/.test(await text());
  });
  expect(await failedRuns(night.service)).toEqual([]);
  await until({ what: 'the destination got all runs' }, () => night.delivered() === RUNS);
  await until({ what: 'the incident is resolved' }, async () => {
    await tab.open(`${night.url}${href}`);
    return (await text()).includes('resolved');
  });
  expect(tab.errors).toEqual([]);
  await night.stop();
});
