/**
 * The real daemon, killed with SIGKILL repeatedly at random moments while it counts the log: what the simulation assumes
 * of processes, files and sockets. In the meantime messages are delivered, retried and failed. No metric decreases or
 * vanishes from one life to the next, and in the end the metrics match the service.
 */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import type { RunningEmulator } from '#emulator/emulator.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { addressOf, daemonConfig } from './daemon-world.ts';
import { scrape, serviceCounts, type Exposition } from './exposition.ts';
import { httpSink, type Answer } from './http-sink.ts';
import { logTruth, toldByMetrics, type LogTruth } from './log-truth.ts';
import { opsd, type Program } from './program.ts';
import { logsUntil, publish, TEST_TOKEN } from './service.ts';
import { tempDir } from './temp-dir.ts';
import { testEmulator } from './test-emulator.ts';
import { until } from './until.ts';

/** Fails each message at `flaky` once, and those at `bad` permanently. */
function answerMessages(): Answer {
  const tried = new Set<string>();
  return ({ url, headers }, response) => {
    const id = String(headers['svc-message-id']);
    const fails = url.startsWith('/bad') || (url.startsWith('/flaky') && !tried.has(id));
    tried.add(id);
    response.writeHead(fails ? 503 : 200).end();
  };
}

/** @returns the service's own figures at the end */
export async function killedLogs({
  kills,
  seed,
}: {
  readonly kills: number;
  readonly seed: number;
}): Promise<LogTruth> {
  const random = seededRandom(seed);
  const below = (max: number): number => Math.floor(random() * max);
  const emulator = await testEmulator({ control: true, random: seededRandom(seed + 1) });
  const sink = await httpSink(answerMessages());
  const file = join(tempDir(), 'opsd.yaml');
  writeFileSync(file, configOf(emulator.url));
  const run = (): Program => opsd(['run', '--config', file]);

  // Counting begins before any event.
  const first = run();
  const url = await addressOf(first);
  await until(
    { what: 'counting has begun' },
    async () => (await scrape(url)).value('opsd_log_watermark_timestamp_seconds') !== undefined,
  );
  await first.crash();

  let counted: ReadonlyMap<string, number> = new Map();
  for (let life = 0; life < kills; life += 1) {
    const daemon = run();
    await send(emulator.url, sink.url, below);
    // Half of the kills are during the start, the others during reads.
    const address = below(2) === 0 ? await addressOf(daemon) : undefined;
    await new Promise((resolve) => setTimeout(resolve, below(1_500)));
    if (address !== undefined) counted = grown(counted, await scrape(address));
    await daemon.crash();
  }

  const truth = await truthOf(emulator);
  const last = run();
  const address = await addressOf(last);
  await until({ what: 'everything is counted' }, async () =>
    isDeepStrictEqual(toldByMetrics(await scrape(address)), truth),
  ).catch(() => undefined);
  const metrics = await scrape(address);
  expect(toldByMetrics(metrics)).toEqual(truth);
  grown(counted, metrics);
  await last.stop();
  using db = new DatabaseSync(join(dirname(file), 'opsd.db'), { readOnly: true });
  expectHistory(db, metrics);
  return truth;
}

async function send(url: string, sinkUrl: string, below: (max: number) => number): Promise<void> {
  const service = { url, token: TEST_TOKEN };
  const to = (path: string, headers: Record<string, string> = {}): Promise<string> =>
    publish(service, `${sinkUrl}/${path}`, { 'Svc-Retry-Delay': '400', ...headers });
  await Promise.all([
    to('good'),
    to('good', { 'Svc-Delay': '1s' }),
    to('flaky', { 'Svc-Retries': '2' }),
    to('bad', { 'Svc-Retries': String(below(2)) }),
    to('later', { 'Svc-Delay': '1h' }),
  ]);
}

/** Waits until every message that is due has ended. */
async function truthOf(emulator: RunningEmulator): Promise<LogTruth> {
  await until({ what: 'every message that is due has ended' }, () =>
    emulator
      .messages('acc-1')
      .every(({ state, url }) => ['DELIVERED', 'FAILED'].includes(state) || url.endsWith('later')),
  );
  const service = { url: emulator.url, token: TEST_TOKEN };
  return logTruth((await logsUntil(service, emulator.control.clock().now + 60_000)).toReversed());
}

function expectHistory(db: DatabaseSync, metrics: Exposition): void {
  const error = metrics.sum('msgsvc_message_attempt_failures_total');
  const counted = {
    created: metrics.sum('msgsvc_messages_created_total'),
    delivered: metrics.sum('msgsvc_message_attempts_total') - error,
    error,
    failed: metrics.sum('msgsvc_message_failures_total'),
    retried: metrics.sum('msgsvc_message_retry_delay_seconds_count'),
  };
  const sums = Object.keys(counted).map((column) => `sum(${column}) AS ${column}`);
  for (const step of [60_000, 3_600_000]) {
    expect({ ...db.prepare(`SELECT ${sums.join(', ')} FROM history WHERE step = ?`).get(step) }).toEqual(counted);
  }
}

function configOf(url: string): string {
  const off = { enabled: false };
  const logs = { every: '1s', lag: '1s', sweep: { every: '2s', reach: '5s' } };
  return daemonConfig(url, {
    telemetry: { metrics: { newSeriesZeroFor: '0s', debug: true } },
    account: {
      client: { requestsPerSecond: 200 },
      collectors: { logs, workflowDlq: off, urlGroups: off },
    },
  });
}

/** Returns the counts about the service, by series. Checks that each earlier series exists and has not decreased. */
function grown(before: ReadonlyMap<string, number>, metrics: Exposition): ReadonlyMap<string, number> {
  const now = serviceCounts(metrics);
  const lost = [...before].filter(([series, value]) => !((now.get(series) ?? -1) >= value));
  expect(lost).toEqual([]);
  return now;
}
