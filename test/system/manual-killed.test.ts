/** Manual plans survive `kill -9`: the campaign continues in the next process, and nothing is sent twice. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '#foundation/platform/clock.ts';
import { addressOf, daemonConfig } from '../support/daemon-world.ts';
import { faultProxy } from '../support/fault-proxy.ts';
import { httpSink } from '../support/http-sink.ts';
import { onAudit } from '../support/kill-policies.ts';
import { clockedOpsd, opsd, type Program } from '../support/program.ts';
import { TEST_TOKEN } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { testEmulator } from '../support/test-emulator.ts';
import { until } from '../support/until.ts';

const MINUTE = 60_000;
const RUNS = 6;
/** Points at which a life ends; the others end after a run. */
const POINTS = ['intent', 'acted', 'whole'] as const;
const MOST_LIVES = 20;
const OFF = { enabled: false };

interface Progress {
  readonly state: string;
  readonly finished: boolean;
  readonly sent: number;
  readonly verified: number;
  readonly left: number;
  readonly campaigns: readonly { readonly state: string; readonly unknown: number; readonly until?: number }[];
}

async function progressOf(daemon: Program, plan: string): Promise<Progress> {
  const response = await fetch(`${await addressOf(daemon)}/api/v1/plans/${plan}`);
  const { plan: shown } = (await response.json()) as { plan: { progress: Progress } };
  return shown.progress;
}

test('a manual plan continues after kills and lost responses, and resumes each run once', async () => {
  const emulator = await testEmulator({ control: true, accounts: [{ id: 'acc-1', token: TEST_TOKEN }] });
  const proxy = await faultProxy(emulator.url);
  const sink = await httpSink((_request, response) => void response.writeHead(200).end());
  const folder = tempDir();
  const config = join(folder, 'opsd.yaml');
  const collectors = { workflowDlq: { every: '1s', full: '10s' }, logs: OFF, urlGroups: OFF };
  const account = { client: { requestsPerSecond: 200 }, collectors };
  writeFileSync(config, daemonConfig(proxy.url, { account, log: { level: 'debug' } }));
  const seeded = (labels: readonly string[]) => ({ url: `${sink.url}/good`, status: 503, labels });
  await emulator.control.seed({
    failedRuns: [...Array.from({ length: RUNS }, () => seeded(['billing'])), seeded(['other'])],
  });
  await emulator.advance(10 * MINUTE);
  const start = (): Program =>
    clockedOpsd({ aheadMs: emulator.control.clock().now - systemClock.now() }, ['run', '--config', config]);
  const killed = async (daemon: Program): Promise<void> => {
    await daemon.crash();
    await emulator.idle();
  };

  let daemon = start();
  await addressOf(daemon);
  const limits = ['--set', 'ramp.start=3', '--set', 'ramp.settle=1s'];
  const resume = ['dlq', 'resume', '--label', 'billing', '--reason', 'outage over', ...limits];
  const made = opsd([...resume, '--yes', '-o', 'json', '--config', config]);
  expect(await made.ended, made.stdout() + made.stderr()).toMatchObject({ code: 0 });
  const { plan } = JSON.parse(made.stdout()) as { plan: string };
  await killed(daemon);

  const policy = `manual:${plan}`;
  let lives = 0;
  let progress: Progress | undefined;
  while (progress?.finished !== true && lives < MOST_LIVES) {
    await emulator.advance(7 * MINUTE);
    // Lives that are killed, and lives that find lost requests: both continue the plan at their start.
    const point = POINTS[lives++ % POINTS.length]!;
    const struck = Promise.withResolvers<void>();
    using _watch = point === 'intent' ? onAudit(folder, point, struck.resolve) : undefined;
    const alive = (daemon = start());
    if (point === 'acted') {
      proxy.decide(({ method }) => (method === 'GET' ? 'pass' : (struck.resolve(), alive.ended)));
    }
    await addressOf(alive);
    await Promise.race([struck.promise, untilRun(alive, policy, plan)]);
    if (point === 'whole') {
      await untilJudged(alive, plan, emulator.control.clock().now);
      progress = await progressOf(alive, plan);
    }
    if (progress?.finished !== true) await killed(alive);
    proxy.decide(() => 'pass');
  }
  expect(await progressOf(daemon, plan)).toMatchObject({ state: 'finished', verified: RUNS, sent: RUNS, left: 0 });
  const resumes = emulator.control.requests
    .list({ after: 0 })
    .filter(({ operation, status }) => operation === 'resume-workflow-dlq' && status === 200)
    .map(({ path }) => new URL(path, 'http://service').searchParams.get('dlqIds'));
  expect(new Set(resumes).size).toBe(RUNS);
  expect(resumes).toHaveLength(RUNS);
  await daemon.stop();
  const verdict = opsd(['audit', 'verify', '--config', config]);
  expect(await verdict.ended, verdict.stdout()).toMatchObject({ code: 0 });
});

/** Waits until each step that is due is judged: a start judges only after a response has confirmed the clock. */
async function untilJudged(daemon: Program, plan: string, now: number): Promise<void> {
  await until({ what: 'the due steps to be judged' }, async () => {
    const { campaigns } = await progressOf(daemon, plan);
    return !campaigns.some(({ state, unknown, until: due = 0 }) => state === 'settling' && unknown === 0 && due <= now);
  });
}

/** Waits until the daemon has run the plan, or has nothing left to run. */
async function untilRun(daemon: Program, policy: string, plan: string): Promise<void> {
  const hasRun = (): boolean => daemon.said('policy run finished').some((line) => line['policy'] === policy);
  await until({ what: `${policy} has run` }, async () => {
    return daemon.child.signalCode !== null || hasRun() || (await progressOf(daemon, plan)).finished;
  });
}
