/**
 * The demo under control of a test: the same service, traffic and configuration. The service runs in this process,
 * where tests set its faults. The daemon runs on a configuration file that tests can change, with hooks and receivers.
 * It ends with the test.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { runEmulator, type RunningEmulator } from '#emulator/emulator.ts';
import { replayHistory } from '#emulator/control/history.ts';
import { startSampleDestinations } from '#emulator/sample/destinations.ts';
import { startSampleTraffic } from '#emulator/sample/traffic.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { fastClock } from './fast-clock.ts';
import { freePort } from './free-port.ts';
import { httpSink } from './http-sink.ts';
import { clockedOpsd, opsd, type Program } from './program.ts';
import type { Service } from './service.ts';
import { tempDir } from './temp-dir.ts';
import { until } from './until.ts';

const ACCOUNT = 'acc-demo';
const TOKEN = 'demo-token';
/** A host without other traffic. The policy resume-quiet resumes its failed runs with the label `quiet`. */
export const QUIET_HOST = 'quiet.example';
const MANAGEMENT = { username: 'demo', password: 'demo-password' };
const DEMO = new URL('../../src/cli/commands/demo.yaml', import.meta.url);
export const HOOK_TOKEN = 'hook-token';

/** Configuration as parsed from YAML. */
type Settings = Record<string, unknown>;

export interface TroubledShop {
  /** Address of the daemon's pages, which does not change. */
  readonly url: string;
  /** Address of its hooks. */
  readonly hooks: string;
  readonly emulator: RunningEmulator;
  readonly service: Service;
  /** Changes the configuration, and waits until the daemon uses it. */
  configure(over: (settings: Settings) => Settings): Promise<void>;
  /** Sends a command to the daemon and awaits it. An exit code other than 0 is an error. */
  command(...args: readonly string[]): Promise<void>;
  /** Lets time pass for service and daemon. The daemon is stopped in the meantime. */
  pass(...stretches: readonly number[]): Promise<void>;
}

export async function troubledShop({
  seed,
  speed,
}: {
  readonly seed: number;
  readonly speed: number;
}): Promise<TroubledShop> {
  const time = { speed, since: Date.now() };
  const { emulator, indexes } = await serviceWithTraffic(seed, fastClock(time));
  const people = await httpSink((_request, response) => void response.writeHead(404).end());
  const [url, hooks] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
  const folder = tempDir();
  const file = join(folder, 'opsd.yaml');
  const demo = parse(readFileSync(DEMO, 'utf8')) as Settings & { policies: readonly object[] };
  const [onboarding] = demo.policies.filter((policy) => 'name' in policy && policy.name === 'resume-onboarding');
  let settings: Settings = {
    ...demo,
    server: { listen: new URL(url).host },
    // The first count of a series is an increase: Prometheus scrapes a zero several times before it, also if it is late.
    telemetry: { metrics: { latencyUnit: 'ms', newSeriesZeroFor: '60s' } },
    hooks: {
      listen: new URL(hooks).host,
      publicUrl: hooks,
      alertmanager: { main: { token: HOOK_TOKEN } },
      callbacks: { shop: { token: HOOK_TOKEN } },
    },
    notifications: { infoAfter: '0s', webhook: { url: people.url } },
    policies: [
      ...demo.policies,
      { ...onboarding, name: 'on-alert', every: undefined, mode: 'audit', on: { alert: 'WorkflowsFail' } },
      {
        ...onboarding,
        name: 'resume-quiet',
        mode: 'enforce',
        select: { resource: 'workflow-dlq', anyLabel: ['quiet'] },
      },
    ],
  };
  // JSON is YAML.
  const write = (): void => writeFileSync(file, JSON.stringify(settings, undefined, 2));
  write();
  const env = {
    OPSD_DEMO_FOLDER: folder,
    OPSD_DEMO_URL: emulator.url,
    OPSD_DEMO_ACCOUNT: ACCOUNT,
    OPSD_DEMO_TOKEN: TOKEN,
    OPSD_DEMO_USERNAME: MANAGEMENT.username,
    OPSD_DEMO_PASSWORD: MANAGEMENT.password,
    OPSD_DEMO_TODAY: new Date().toISOString().slice(0, 10),
    OPSD_DEMO_SEARCH_INDEX: indexes.searchIndexId,
    OPSD_DEMO_VECTOR_INDEX: indexes.vectorIndexId,
    OPSD_DEMO_LOG_LEVEL: 'info',
  };
  const args = ['run', '--config', file];
  let aheadMs = 0;
  let daemon = clockedOpsd(time, args, { env });
  await daemon.logged('daemon running');
  return {
    url,
    hooks,
    emulator,
    service: { url: emulator.url, token: TOKEN },
    async configure(over) {
      const before = starts(daemon);
      settings = over(settings);
      write();
      await until({ what: 'the daemon runs with what was changed' }, () => {
        const refused = daemon.log().find((line) => String(line['msg']).includes('configuration reload failed'));
        if (refused !== undefined) throw new Error(JSON.stringify(refused));
        return starts(daemon) > before;
      });
    },
    async command(...words) {
      const program = opsd([...words, '--socket', join(folder, 'opsd.db.sock')]);
      const { code } = await program.ended;
      if (code !== 0) throw new Error(`opsd ${words.join(' ')} ended with ${code}: ${program.stderr()}`);
    },
    async pass(...stretches) {
      await daemon.stop();
      for (const ms of stretches) {
        aheadMs += ms;
        await emulator.advance(ms, { patienceMs: 1_000 });
        const { accepted } = indexes.counts();
        await until({ what: 'the traffic goes on' }, () => indexes.counts().accepted > accepted + 20);
      }
      daemon = clockedOpsd({ ...time, aheadMs }, args, { env });
      await daemon.logged('daemon running');
    },
  };
}

function starts(daemon: Program): number {
  return daemon.said('daemon running').length;
}

async function serviceWithTraffic(seed: number, clock: Clock) {
  const random = seededRandom(seed);
  const destinations = await startSampleDestinations({ clock, random });
  onTestFinished(() => destinations.stop());
  const emulator = await runEmulator({
    clock,
    time: 'real',
    random,
    listen: { host: '127.0.0.1', port: 0 },
    accounts: [{ id: ACCOUNT, token: TOKEN }],
    management: MANAGEMENT,
    hosts: destinations.hosts,
  });
  onTestFinished(() => emulator.stop());
  replayHistory({ statistics: emulator.statistics, accountId: ACCOUNT, random, now: clock.now(), days: 30 });
  const traffic = await startSampleTraffic({
    emulatorUrl: emulator.url,
    token: TOKEN,
    headerPrefix: 'Svc',
    management: { accountId: ACCOUNT, ...MANAGEMENT },
    clock,
    random,
  });
  onTestFinished(() => traffic.stop());
  return { emulator, indexes: traffic };
}
