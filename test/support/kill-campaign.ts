/**
 * The real daemon, killed with SIGKILL again and again at random moments while messages are published, delivered,
 * retried, failed and cancelled, and while the service loses answers and lists entries twice. In the end the metrics
 * are what the service did: counters, histograms and what is in flight.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { startEmulator } from '../../src/emulator/emulator.ts';
import type { FaultRule } from '../../src/emulator/faults.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { seededRandom } from '../../src/platform/random.ts';
import { addressOf } from './daemon-world.ts';
import { scrape } from './exposition.ts';
import { httpSink } from './http-sink.ts';
import { logTruth, toldByMetrics, total, type LogTruth } from './log-truth.ts';
import { opsd, type Program } from './program.ts';
import { logsUntil, publish } from './service.ts';
import { tempDir } from './temp-dir.ts';
import { until } from './until.ts';

const ACCOUNT = 'acc-1';
const TOKEN = 'token-1';

const FAULTS: readonly FaultRule['fault'][] = [
  { kind: 'lost' },
  { kind: 'truncated' },
  { kind: 'status', status: 503 },
  { kind: 'duplicate', share: 0.3 },
];

export interface KillCampaign {
  readonly kills: number;
  readonly seed: number;
}

/** @returns what was true in the end, and told */
export async function killCampaign({ kills, seed }: KillCampaign): Promise<LogTruth> {
  const random = seededRandom(seed);
  const below = (max: number): number => Math.floor(random() * max);
  const emulator = await startEmulator({
    clock: systemClock,
    random: seededRandom(seed + 1),
    control: true,
    listen: { host: '127.0.0.1', port: 0 },
    accounts: [{ id: ACCOUNT, token: TOKEN }],
    management: { username: 'user', password: 'password' },
    enforceLimits: false,
  });
  onTestFinished(() => emulator.stop());
  const service = { url: emulator.url, token: TOKEN };
  const tried = new Set<string>();
  const sink = await httpSink(({ url, headers }, response) => {
    const id = String(headers['svc-message-id']);
    const fails = url.startsWith('/bad') || (url.startsWith('/flaky') && !tried.has(id));
    tried.add(id);
    response.writeHead(fails ? 503 : 200).end();
  });
  const file = join(tempDir(), 'opsd.yaml');
  writeFileSync(
    file,
    `
server: { listen: "127.0.0.1:0" }
storage: { sqlite: { path: opsd.db } }
accounts:
  - name: production
    messageApi: { url: "${emulator.url}", token: ${TOKEN} }
    client: { requestsPerSecond: 200 }
    collectors:
      logs: { every: 1s, lag: 1s }
      workflowDlq: { enabled: false }
      urlGroups: { enabled: false }
telemetry: { metrics: { newSeriesZeroFor: 0s } }
`,
  );
  const run = (): Program => opsd(['run', '--config', file]);

  async function publishSome(): Promise<void> {
    const to = (path: string, headers: Record<string, string> = {}): Promise<string> =>
      publish(service, `${sink.url}/${path}`, { 'Svc-Retry-Delay': '400', ...headers });
    await Promise.all([
      to('good'),
      to('good', { 'Svc-Delay': '1s' }),
      to('flaky', { 'Svc-Retries': '2' }),
      to('bad', { 'Svc-Retries': String(below(2)) }),
      to('later', { 'Svc-Delay': '1h' }),
    ]);
    const waiting = emulator.messages(ACCOUNT).filter(({ state, url }) => state === 'CREATED' && url.endsWith('later'));
    if (waiting.length > 3) emulator.cancelMessage(ACCOUNT, waiting[below(waiting.length)]!.id);
  }

  // Counting begins before the first message.
  const first = run();
  const url = await addressOf(first);
  const watermark = 'opsd_logs_watermark_timestamp_seconds';
  await until({ what: 'counting has begun' }, async () => (await scrape(url)).value(watermark) !== undefined);
  first.kill('SIGKILL');
  await first.ended;

  for (const fault of FAULTS) {
    emulator.control.faults.add({ operations: ['list-logs'], probability: 0.1, fault });
  }
  for (let kill = 0; kill < kills; kill += 1) {
    const daemon = run();
    await publishSome();
    // Half of the time while it starts, else while it reads.
    if (below(2) === 0) await daemon.logged('the daemon runs');
    await new Promise((resolve) => setTimeout(resolve, below(1_500)));
    daemon.kill('SIGKILL');
    await daemon.ended;
  }
  emulator.control.faults.clear();
  await until({ what: 'every message that is due has ended' }, () =>
    emulator
      .messages(ACCOUNT)
      .every(({ state, url: to }) => ['DELIVERED', 'FAILED', 'CANCELLED'].includes(state) || to.endsWith('later')),
  );

  const truth = logTruth((await logsUntil(service, systemClock.now() + 60_000)).toReversed());
  const last = run();
  const address = await addressOf(last);
  let told: LogTruth | undefined;
  await until({ what: 'every entry is counted', timeoutMs: 30_000 }, async () => {
    told = toldByMetrics(await scrape(address));
    return ['msgsvc_messages_created_total', 'msgsvc_messages_finished_total'].every(
      (metric) => total(told!, metric) >= total(truth, metric),
    );
  }).catch(() => undefined);
  const metrics = await scrape(address);
  expect(toldByMetrics(metrics)).toEqual(truth);
  for (const doubt of ['unjoined_deliveries', 'unjoined_attempts', 'revised_durations', 'given_up_messages']) {
    expect(metrics.value(`opsd_logs_${doubt}_total`), doubt).toBe(0);
  }
  last.kill('SIGTERM');
  expect(await last.ended).toEqual({ code: 0, signal: null });
  return truth;
}
