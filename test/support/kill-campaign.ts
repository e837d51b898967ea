/**
 * The real daemon, killed with SIGKILL repeatedly at random moments. In the meantime the embedded service runs a
 * campaign, and loses, cuts, rejects and repeats responses. No metric decreases or vanishes from one life to the next,
 * and in the end the metrics match the service.
 */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import type { RunningEmulator } from '#emulator/emulator.ts';
import type { OperationFaultRule } from '#emulator/http/faults.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { addressOf, daemonConfig, managementAt } from './daemon-world.ts';
import { scrape, type Exposition } from './exposition.ts';
import { httpSink, type Answer } from './http-sink.ts';
import { opsd, type Program } from './program.ts';
import { TEST_TOKEN, type Service } from './service.ts';
import { tempDir } from './temp-dir.ts';
import { until } from './until.ts';
import { testEmulator } from './test-emulator.ts';

export const ACCOUNT = 'acc-1';

/** Environment of a campaign. */
export interface CampaignBed {
  readonly emulator: RunningEmulator;
  readonly service: Service;
  /** Destination of messages and runs. */
  readonly sinkUrl: string;
  /** Returns a random whole number below this. */
  readonly below: (max: number) => number;
  readonly kills: number;
}

export interface Campaign<Truth> {
  /** Settings of the collectors that run. */
  readonly collectors: Readonly<Record<string, object>>;
  /** Settings of the metrics' labels. */
  readonly labels?: object;
  /** Creates the state before the first start of the daemon. */
  readonly before?: () => void | Promise<void>;
  /** Returns true if counting has begun. */
  readonly hasBegun: (metrics: Exposition) => boolean;
  readonly faults: readonly OperationFaultRule[];
  /** Runs while a daemon lives, or starts. */
  readonly alive: () => Promise<void>;
  /** Runs while no daemon lives. */
  readonly dead?: () => Promise<void>;
  /** Receives a scrape of the daemon, just before it is killed. */
  readonly seen?: (metrics: Exposition) => void;
  /** Ends the pending work, without faults, and returns the service's own figures. */
  readonly truth: () => Promise<Truth>;
  readonly told: (metrics: Exposition) => Truth;
  /** Further checks at the end. */
  readonly check?: (metrics: Exposition) => void;
  /** Checks the store after the last stop, with the last metrics. */
  readonly checkStore?: (db: DatabaseSync, metrics: Exposition) => void;
}

/** Lost, truncated and failed responses to an operation. */
export function losses(operation: string): readonly OperationFaultRule[] {
  const kinds: readonly OperationFaultRule['fault'][] = [
    { kind: 'lost' },
    { kind: 'truncated' },
    { kind: 'status', status: 503 },
  ];
  return kinds.map((fault) => ({ operations: [operation], probability: 0.1, fault }));
}

export interface Kills {
  readonly kills: number;
  readonly seed: number;
  /** Response of the campaign's destination. */
  readonly answer: Answer;
}

/** @returns the service's own figures at the end */
export async function killCampaign<Truth>(
  { kills, seed, answer }: Kills,
  make: (bed: CampaignBed) => Campaign<Truth>,
): Promise<Truth> {
  const random = seededRandom(seed);
  const below = (max: number): number => Math.floor(random() * max);
  const emulator = await testEmulator({ control: true, random: seededRandom(seed + 1) });
  const sink = await httpSink(answer);
  const campaign = make({
    emulator,
    service: { url: emulator.url, token: TEST_TOKEN },
    sinkUrl: sink.url,
    below,
    kills,
  });
  const file = join(tempDir(), 'opsd.yaml');
  writeFileSync(file, configOf(emulator.url, campaign));
  const run = (): Program => opsd(['run', '--config', file]);

  await campaign.before?.();
  // Counting begins before any event.
  const first = run();
  const url = await addressOf(first);
  await until({ what: 'counting has begun' }, async () => campaign.hasBegun(await scrape(url)));
  await first.crash();

  for (const fault of campaign.faults) emulator.control.faults.add(fault);
  let counted = new Map<string, number>();
  for (let life = 0; life < kills; life += 1) {
    const daemon = run();
    await campaign.alive();
    // Half of the kills are during the start, the others during reads.
    const address = below(2) === 0 ? await addressOf(daemon) : undefined;
    await new Promise((resolve) => setTimeout(resolve, below(1_500)));
    if (address !== undefined) {
      const metrics = await scrape(address);
      counted = grown(counted, metrics);
      campaign.seen?.(metrics);
    }
    await daemon.crash();
    await campaign.dead?.();
  }
  emulator.control.faults.clear();

  const truth = await campaign.truth();
  const last = run();
  const address = await addressOf(last);
  await until({ what: 'everything is counted' }, async () =>
    isDeepStrictEqual(campaign.told(await scrape(address)), truth),
  ).catch(() => undefined);
  const metrics = await scrape(address);
  expect(campaign.told(metrics)).toEqual(truth);
  grown(counted, metrics);
  campaign.check?.(metrics);
  await last.stop();
  using db = new DatabaseSync(join(dirname(file), 'opsd.db'), { readOnly: true });
  campaign.checkStore?.(db, metrics);
  return truth;
}

const ALL_COLLECTORS = ['logs', 'workflowDlq', 'urlGroups', 'accountStats'];

function configOf(url: string, { collectors, labels = {} }: Pick<Campaign<unknown>, 'collectors' | 'labels'>): string {
  const others = Object.fromEntries(ALL_COLLECTORS.map((name) => [name, { enabled: false }]));
  return daemonConfig(url, {
    telemetry: { metrics: { newSeriesZeroFor: '0s', debug: true, labels } },
    account: {
      managementApi: managementAt(url),
      client: { requestsPerSecond: 200 },
      collectors: { ...others, ...collectors },
    },
  });
}

/** Returns the counts about the service, by series. Checks that each earlier series exists and has not decreased. */
function grown(before: ReadonlyMap<string, number>, metrics: Exposition): Map<string, number> {
  const now = new Map(
    metrics.samples
      .filter(({ name }) => name.startsWith('msgsvc_') && /_(total|count|sum|bucket)$/.test(name))
      .map(({ name, labels, value }) => [`${name} ${JSON.stringify(labels)}`, value]),
  );
  const lost = [...before].filter(([series, value]) => !((now.get(series) ?? -1) >= value));
  expect(lost).toEqual([]);
  return now;
}
