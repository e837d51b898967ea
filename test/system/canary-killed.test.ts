/** Messages of canaries in flight survive `kill -9` and a pause of the process. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import type { CanaryPhase, CanaryRound } from '#foundation/domain/canary.ts';
import type { RoundRecord } from '#observe/canary/store.ts';
import type { CanariesView } from '#operate/contract/readings.ts';
import { addressOf, daemonConfig } from '../support/daemon-world.ts';
import { scrape } from '../support/exposition.ts';
import { faultProxy, type Passed } from '../support/fault-proxy.ts';
import { freePort } from '../support/free-port.ts';
import { clockedOpsd, type Program } from '../support/program.ts';
import { logsUntil, TEST_TOKEN } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { testEmulator } from '../support/test-emulator.ts';
import { until } from '../support/until.ts';

const HOUR = 3_600_000;
/** Speed of the daemon's time. */
const SPEED = 3;

interface Settings {
  readonly every: string;
  /** Timeout of each canary. */
  readonly timeouts: Readonly<Record<string, string>>;
}

async function canaryStage() {
  const emulator = await testEmulator({ control: true });
  const proxy = await faultProxy(emulator.url);
  const folder = tempDir();
  const hooks = `127.0.0.1:${await freePort()}`;
  const since = Date.now();
  const config = ({ every, timeouts }: Settings): string =>
    daemonConfig(proxy.url, {
      account: {
        collectors: { logs: { enabled: false }, urlGroups: { enabled: false } },
        canaries: Object.entries(timeouts).map(([name, timeout]) => ({ name, every, timeout })),
      },
      telemetry: { metrics: { newSeriesZeroFor: '0s' } },
      hooks: { listen: hooks, publicUrl: `http://${hooks}` },
    });
  return {
    emulator,
    proxy,
    run: (settings: Settings, aheadMs = 0): Program => {
      const file = join(folder, 'opsd.yaml');
      writeFileSync(file, config(settings));
      return clockedOpsd({ aheadMs, speed: SPEED, since }, ['run', '--config', file]);
    },
    /** Delays deliveries to paths by an hour of the service. */
    hold: (...paths: string[]): void => {
      for (const path of paths) {
        const url = `http://${hooks}/hooks/canary/production/${path}`;
        emulator.control.deliveryFaults.add({ url, fault: { kind: 'held', ms: HOUR } });
      }
    },
    stored: (): RoundRecord[] => {
      using db = new DatabaseSync(join(folder, 'opsd.db'), { readOnly: true });
      const rows = db.prepare('SELECT record FROM canary_rounds').all();
      return rows.map(({ record }) => JSON.parse(String(record)) as RoundRecord);
    },
    /** Returns the number of messages that the service has of one message of a canary. */
    published: async (id: string): Promise<number> => {
      const rows = await logsUntil({ url: emulator.url, token: TEST_TOKEN }, emulator.control.clock().now);
      const own = rows.filter(({ url, labels }) => !url.endsWith('/callback') && labels?.includes(`opsd-canary-${id}`));
      return new Set(own.map(({ messageId }) => messageId)).size;
    },
  };
}

async function roundsOf(url: string): Promise<Record<string, readonly CanaryRound[]>> {
  const { canaries } = (await (await fetch(`${url}/api/v1/canaries`)).json()) as CanariesView;
  return Object.fromEntries(canaries.map(({ canary, rounds }) => [canary, rounds]));
}

async function counted(url: string, outcome: string): Promise<number> {
  return (await scrape(url)).sum('msgsvc_canary_messages_total', { outcome });
}

/** Messages that were sent, and those that arrived: on a busy machine, some are late. */
async function totals(url: string): Promise<{ readonly sent: number; readonly arrived: number }> {
  const [sent, arrived, late] = await Promise.all(['sent', 'arrived', 'late'].map((one) => counted(url, one)));
  return { sent: sent!, arrived: arrived! + late! };
}

/** Steps at which a message is held, by canary. Only a message that never reaches the service is not delivered. */
const STEPS = { dropped: '5s', unanswered: '1m', accepted: '1m', arrived: '1m', called: '1m' };

test('a killed daemon follows messages at every step, blames no one, and counts each message once', async () => {
  const { emulator, proxy, run, hold, stored, published } = await canaryStage();
  let daemon = run({ every: '5s', timeouts: STEPS });
  let url = await addressOf(daemon);
  await until({ what: 'the first message of each canary is ok' }, async () =>
    Object.values(await roundsOf(url)).every((rounds) => rounds.some(({ result }) => result?.verdict === 'ok')),
  );

  const first = daemon;
  const seen = new Set<string>();
  const leads = ({ method, url: to }: Passed, canary: string) => method === 'POST' && to.endsWith(`/${canary}`);
  hold('unanswered', 'accepted', 'arrived/callback');
  proxy.admit(async (request) => {
    if (!leads(request, 'dropped')) return true;
    seen.add('dropped');
    await first.ended;
    return false;
  });
  proxy.decide((request) => {
    if (leads(request, 'unanswered')) seen.add('unanswered');
    return leads(request, 'unanswered') || request.url.startsWith('/v2/logs') ? first.ended : 'pass';
  });
  const phasesOf = async (canary: string): Promise<string> =>
    Object.keys((await roundsOf(url))[canary]![0]!.phases).join();
  await until({ what: 'a message of each canary is at its step' }, async () => {
    const phases = await Promise.all(['accepted', 'arrived', 'called'].map(phasesOf));
    return (
      seen.size === 2 &&
      phases[0] === 'accepted' &&
      phases[1] === 'accepted,arrived' &&
      phases[2] === 'accepted,arrived,callback'
    );
  });
  const shown = Object.values(await roundsOf(url)).flat();
  const before = await totals(url);
  await daemon.crash();
  const killed = stored();
  const inFlight = killed.filter(({ result }) => result === undefined);
  expect(new Set(inFlight.map(({ canary }) => canary))).toEqual(new Set(Object.keys(STEPS)));

  // No further messages: only those of the killed daemon count.
  proxy.admit(async () => true);
  proxy.decide(() => 'pass');
  emulator.control.deliveryFaults.clear();
  daemon = run({ every: '1d', timeouts: STEPS });
  url = await addressOf(daemon);
  await emulator.advance(HOUR);
  const ended = await until({ what: 'each message in flight has its verdict' }, async () => {
    const rounds = Object.values(await roundsOf(url)).flat();
    const own = rounds.filter(({ id }) => inFlight.some((one) => one.id === id));
    return own.every(({ result }) => result !== undefined) && own;
  });
  expect(ended).toHaveLength(inFlight.length);
  for (const { canary, id } of inFlight) {
    const { result, phases, duplicates } = ended.find((one) => one.id === id)!;
    const verdicts = canary === 'dropped' ? ['unknown'] : ['ok', 'unknown'];
    expect(verdicts, `${canary}: ${result!.reason}`).toContain(result!.verdict);
    expect(await published(id), canary).toBe(canary === 'dropped' ? 0 : 1);
    expect({ canary, isThere: 'arrived' in phases, duplicates }).toEqual({
      canary,
      isThere: canary !== 'dropped',
      duplicates: 0,
    });
  }
  const after = await totals(url);
  await daemon.crash();
  const meant = stored().filter(({ isWarmUp }) => !isWarmUp);
  // What came after the scrape and before the end was counted, but no scrape shows it.
  const isShown = (id: string, phase: CanaryPhase) => shown.some((one) => one.id === id && phase in one.phases);
  const unseen = {
    sent: killed.filter(({ id, publish }) => publish !== undefined && !isShown(id, 'accepted')).length,
    arrived: killed.filter(({ id, arrivals }) => arrivals.length > 0 && !isShown(id, 'arrived')).length,
  };
  const truth = { sent: meant.length, arrived: meant.filter(({ arrivals }) => arrivals.length > 0).length };
  for (const outcome of ['sent', 'arrived'] as const) {
    const total = before[outcome] + after[outcome];
    expect(total, outcome).toBeLessThanOrEqual(truth[outcome]);
    expect(total, outcome).toBeGreaterThanOrEqual(truth[outcome] - unseen[outcome]);
  }

  // Later, the message that never arrived is lost, once.
  const missing = meant.filter(({ arrivals }) => arrivals.length === 0);
  expect(missing.map(({ canary }) => canary)).toEqual(['dropped']);
  const lost: number[] = [];
  for (const _life of [3, 4]) {
    const known = stored().map(({ id }) => id);
    daemon = run({ every: '5s', timeouts: { dropped: STEPS.dropped } }, HOUR);
    url = await addressOf(daemon);
    await until({ what: 'a further message is sent' }, async () =>
      (await roundsOf(url))['dropped']!.some(({ id }) => !known.includes(id)),
    );
    lost.push(await counted(url, 'lost'));
    await daemon.crash();
  }
  expect(lost).toEqual([1, 0]);
});

test('a daemon that was stopped for longer than the timeout blames no one', async () => {
  const { emulator, run, hold } = await canaryStage();
  // The attempt fails while the daemon is stopped, or arrives at its end.
  const timeouts = { failed: '8s', late: '10s' };
  hold(...Object.keys(timeouts));
  const daemon = run({ every: '5s', timeouts });
  const url = await addressOf(daemon);
  const newest = await until({ what: 'a message of each canary is accepted' }, async () => {
    const rounds = Object.values(await roundsOf(url)).map(([last]) => last);
    return rounds.every((last) => last?.result === undefined && last?.messageId !== undefined) && rounds;
  });
  daemon.kill('SIGSTOP');
  await emulator.advance(HOUR, { patienceMs: 0 });
  const failed = newest[0]!.messageId;
  await until({ what: 'the attempt has failed' }, async () => {
    const rows = await logsUntil({ url: emulator.url, token: TEST_TOKEN }, emulator.control.clock().now);
    return rows.some(({ messageId, state }) => messageId === failed && (state === 'ERROR' || state === 'FAILED'));
  });
  daemon.kill('SIGCONT');
  const results = await until({ what: 'each message has its verdict' }, async () => {
    const rounds = Object.values(await roundsOf(url)).flat();
    const own = newest.map((last) => rounds.find(({ id }) => id === last!.id)?.result);
    return own.every((result) => result !== undefined) && own;
  });
  for (const result of results) expect(['ok', 'unknown'], result.reason).toContain(result.verdict);
});
