/**
 * An account whose destinations fail and recover while policies of three modes watch it. The daemon is the real program
 * with a fast clock, and can be killed and started again. The service runs in this process, which reads its books.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { startEmulator, type Emulator } from '#emulator/emulator.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { fastClock } from '../fast-clock.ts';
import { freePort } from '../free-port.ts';
import { httpSink, type HttpSink } from '../http-sink.ts';
import { clockedOpsd, opsd, type Program } from '../program.ts';
import { publish, TEST_TOKEN, trigger, type Service } from '../service.ts';
import { tempDir } from '../temp-dir.ts';
import { until } from '../until.ts';

export const MINUTE = 60_000;
export const ACCOUNT = 'production';
/** Token of the reader, who is an operator. */
export const READER = 'token-of-the-reader-of-all-voices';
/** An hour lasts a minute. */
const SPEED = 60;
/** Real time for a step of a story on a busy machine. */
const SLOWLY = { timeoutMs: 240_000 };
/** Milliseconds of virtual time between two messages to each destination. */
const TRAFFIC_EVERY_MS = 20_000;

/** Destinations, each with its own label. No policy selects `orphan`. */
export const PLACES = ['billing', 'shipping', 'mail', 'orphan'] as const;
export type Place = (typeof PLACES)[number];

export const POLICIES = {
  'resume-billing': { place: 'billing', mode: 'approve' },
  'resume-shipping': { place: 'shipping', mode: 'enforce' },
  'watch-mail': { place: 'mail', mode: 'audit' },
} as const;
export type PolicyName = keyof typeof POLICIES;

export interface VoicesWorld {
  readonly clock: Clock;
  readonly emulator: Emulator;
  readonly service: Service;
  /** Address of the daemon, the same in each of its lives. */
  readonly url: string;
  readonly hosts: Readonly<Record<Place, string>>;
  /** Sets the responses of a destination. */
  set(place: Place, state: 'up' | 'down'): void;
  isDown(place: Place): boolean;
  /** Requests that a destination rejected in the last minutes; all of them if it was down as long. */
  failures(place: Place, minutes: number): number;
  /** Fails runs of a destination that is down, and waits until the daemon lists them. */
  fail(place: Place, runs: number): Promise<void>;
  /** Lets virtual time pass under traffic. */
  pass(minutes: number): Promise<void>;
  /** Runs a command as the operator on the daemon's machine. */
  run(...args: readonly string[]): Promise<{ readonly code: number | null; readonly out: string }>;
  /** Changes the configuration in a place that no policy depends on, and waits until the daemon uses it. */
  reload(): Promise<void>;
  /** Kills the daemon, and starts it again. */
  kill(): Promise<void>;
  stop(): Promise<number | null>;
}

export async function voicesWorld({ seed }: { readonly seed: number }): Promise<VoicesWorld> {
  const time = { speed: SPEED, since: Date.now() };
  const clock = fastClock(time);
  const emulator = await startEmulator({
    clock,
    random: seededRandom(seed),
    listen: { host: '127.0.0.1', port: 0 },
    accounts: [{ id: 'acc-1', token: TEST_TOKEN }],
    management: { username: 'user', password: 'password' },
    enforceLimits: false,
    control: true,
  });
  onTestFinished(() => emulator.stop());
  const service: Service = { url: emulator.url, token: TEST_TOKEN };
  const sinks = new Map<Place, HttpSink>();
  for (const place of PLACES) sinks.set(place, await httpSink());
  /** Times of the requests that a destination rejected since it went down. */
  const down = new Map<Place, number[]>();
  const folder = tempDir();
  const file = join(folder, 'opsd.yaml');
  const url = `http://127.0.0.1:${await freePort()}`;
  writeFileSync(join(folder, 'token'), READER);
  let revision = 0;
  const write = (): void => writeFileSync(file, configOf({ url, service, revision, isRetentionKnown: seed % 2 === 1 }));
  write();
  const begin = async (): Promise<Program> => {
    const program = clockedOpsd(time, ['run', '--config', file]);
    await program.logged('daemon running');
    return program;
  };
  let daemon = await begin();
  const world: VoicesWorld = {
    clock,
    emulator,
    service,
    url,
    hosts: Object.fromEntries(PLACES.map((place) => [place, new URL(sinks.get(place)!.url).host])) as Record<
      Place,
      string
    >,
    set(place, state) {
      const rejected: number[] = [];
      if (state === 'down') down.set(place, rejected);
      else down.delete(place);
      sinks.get(place)!.answerWith((_request, response) => {
        if (state === 'down') rejected.push(clock.now());
        response.writeHead(state === 'down' ? 503 : 200).end();
      });
    },
    isDown: (place) => down.has(place),
    failures: (place, minutes) =>
      (down.get(place) ?? []).filter((time) => time > clock.now() - minutes * MINUTE).length,
    async fail(place, runs) {
      const before = emulator.workflowDlq('acc-1').length;
      const headers = { 'Svc-Retries': '0', 'Svc-Label': place };
      const workflow = `${sinks.get(place)!.url}/workflow/${place}`;
      for (let run = 0; run < runs; run++) await trigger(service, workflow, headers);
      await until({ what: `${runs} runs of ${place} have failed`, ...SLOWLY }, () => {
        return emulator.workflowDlq('acc-1').length >= before + runs;
      });
    },
    async pass(minutes) {
      const end = clock.now() + minutes * MINUTE;
      let next = clock.now();
      await until({ what: `${minutes} minutes have passed`, ...SLOWLY, pauseMs: 50 }, async () => {
        if (clock.now() >= next) {
          next = clock.now() + TRAFFIC_EVERY_MS;
          const send = ({ url: to }: HttpSink) => publish(service, `${to}/ok`, { 'Svc-Retries': '0' });
          await Promise.all([...sinks.values()].map(send));
        }
        return clock.now() >= end;
      });
    },
    async run(...args) {
      const program = opsd([...args, '--socket', join(folder, 'opsd.db.sock')], { cwd: folder });
      const { code } = await program.ended;
      return { code, out: program.stdout() + program.stderr() };
    },
    async reload() {
      const before = starts(daemon);
      revision += 1;
      write();
      await until({ what: 'the daemon runs with the changed configuration', ...SLOWLY }, () => starts(daemon) > before);
    },
    async kill() {
      daemon.kill('SIGKILL');
      await daemon.ended;
      daemon = await begin();
    },
    async stop() {
      daemon.kill('SIGTERM');
      return (await daemon.ended).code;
    },
  };
  return world;
}

function starts(daemon: Program): number {
  return daemon.log().filter(({ msg }) => msg === 'daemon running').length;
}

interface ConfigFacts {
  readonly url: string;
  readonly service: Service;
  /** Number of reloads. */
  readonly revision: number;
  readonly isRetentionKnown: boolean;
}

function configOf({ url, service, revision, isRetentionKnown }: ConfigFacts): string {
  const policies = Object.entries(POLICIES).map(
    ([name, { place, mode }]) => `
  - name: ${name}
    account: ${ACCOUNT}
    mode: ${mode}
    every: 5m
    select: { resource: workflow-dlq, anyLabel: [${place}] }
    action: { type: workflow-dlq.resume, retries: 0 }
    ramp: { settle: 2m }`,
  );
  return `
server:
  listen: "${new URL(url).host}"
  tokens: [{ name: stranger, tokenFile: token, role: operator }]
storage: { sqlite: { path: opsd.db } }
accounts:
  - name: ${ACCOUNT}
    messageApi: { url: "${service.url}", token: ${service.token} }
    managementApi: { url: "${service.url}", accountId: acc-1, username: user, password: password }
    client: { requestsPerSecond: 1000, requestsPerDay: ${1_000_000 + revision} }
    ${isRetentionKnown ? 'limits: { dlqRetention: 3d }' : ''}
    collectors:
      logs: { every: 20s, lag: 1s }
      workflowDlq: { every: 20s, full: 1m }
      accountStats: { every: 1m }
telemetry: { metrics: { newSeriesZeroFor: 0s } }
policies:${policies.join('')}
`;
}
