/**
 * The real daemon, killed with SIGKILL repeatedly at random moments while it counts the log: what the simulation assumes
 * of processes, files and sockets. In the meantime messages are delivered, retried, failed and canceled, and the embedded
 * service loses, cuts, rejects and repeats responses. No metric decreases or vanishes from one life to the next, and in
 * the end the metrics match the service.
 */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import type { RunningEmulator } from '#emulator/emulator.ts';
import type { OperationFaultRule } from '#emulator/http/faults.ts';
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

const ACCOUNT = 'acc-1';
const operations = ['list-logs'];
const FAULTS: readonly OperationFaultRule[] = [
  { operations, probability: 0.1, fault: { kind: 'lost' } },
  { operations, probability: 0.1, fault: { kind: 'truncated' } },
  { operations, probability: 0.1, fault: { kind: 'status', status: 503 } },
  { operations, probability: 0.1, fault: { kind: 'duplicate', share: 0.3 } },
  // More or later entries would revise durations.
  { operations, fault: { kind: 'late', ms: 4_000, share: 0.03 } },
];
/** After this many lives some entry was late. In fewer lives, a slow machine may read each late entry in time. */
const SURELY_LATE = 50;

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

  for (const fault of FAULTS) emulator.control.faults.add(fault);
  let counted: ReadonlyMap<string, number> = new Map();
  for (let life = 0; life < kills; life += 1) {
    const daemon = run();
    await send(emulator, sink.url, below);
    // Half of the kills are during the start, the others during reads.
    const address = below(2) === 0 ? await addressOf(daemon) : undefined;
    await new Promise((resolve) => setTimeout(resolve, below(1_500)));
    if (address !== undefined) counted = grown(counted, await scrape(address));
    await daemon.crash();
  }
  emulator.control.faults.clear();

  const truth = await truthOf(emulator);
  const last = run();
  const address = await addressOf(last);
  await until({ what: 'everything is counted' }, async () =>
    isDeepStrictEqual(toldByMetrics(await scrape(address)), truth),
  ).catch(() => undefined);
  const metrics = await scrape(address);
  expect(toldByMetrics(metrics)).toEqual(truth);
  grown(counted, metrics);
  if (kills >= SURELY_LATE) expect(metrics.value('opsd_log_late_entries_total')).toBeGreaterThan(0);
  expectNoDoubt(metrics);
  await last.stop();
  using db = new DatabaseSync(join(dirname(file), 'opsd.db'), { readOnly: true });
  expectHistory(db, metrics);
  return truth;
}

async function send(emulator: RunningEmulator, sinkUrl: string, below: (max: number) => number): Promise<void> {
  const service = { url: emulator.url, token: TEST_TOKEN };
  const to = (path: string, headers: Record<string, string> = {}): Promise<string> =>
    publish(service, `${sinkUrl}/${path}`, { 'Svc-Retry-Delay': '400', ...headers });
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

/** Waits until every message that is due has ended. */
async function truthOf(emulator: RunningEmulator): Promise<LogTruth> {
  await until({ what: 'every message that is due has ended' }, () =>
    emulator
      .messages(ACCOUNT)
      .every(({ state, url }) => ['DELIVERED', 'FAILED', 'CANCELLED'].includes(state) || url.endsWith('later')),
  );
  const service = { url: emulator.url, token: TEST_TOKEN };
  return logTruth((await logsUntil(service, emulator.control.clock().now + 60_000)).toReversed());
}

function expectNoDoubt(metrics: Exposition): void {
  for (const doubt of ['unjoined_deliveries', 'unjoined_attempts', 'revised_durations'])
    expect(metrics.value(`opsd_log_${doubt}_total`), doubt).toBe(0);
  expect(metrics.value('opsd_messages_abandoned_total')).toBe(0);
}

function expectHistory(db: DatabaseSync, metrics: Exposition): void {
  const error = metrics.sum('msgsvc_message_attempt_failures_total');
  const counted = {
    created: metrics.sum('msgsvc_messages_created_total'),
    delivered: metrics.sum('msgsvc_message_attempts_total') - error,
    error,
    cancelled: metrics.sum('msgsvc_message_cancellations_total'),
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
