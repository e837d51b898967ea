/**
 * An account whose destinations fail and recover while policies of three modes watch it. The daemon is the real program,
 * and can be killed and started again. The service runs in this process, which reads its books. The time of both moves
 * only on command, so that nothing changes while the voices are asked.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { runEmulator } from '#emulator/emulator.ts';
import { EXIT } from '#cli/command.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { opsd } from '../../cli/terminal.ts';
import { freePort } from '../free-port.ts';
import { httpSink, type HttpSink } from '../http-sink.ts';
import { clockedOpsd, type Program } from '../program.ts';
import { publish, TEST_TOKEN, trigger, type Service } from '../service.ts';
import { moveTime } from '../stepped-clock.ts';
import { tempDir } from '../temp-dir.ts';

export const MINUTE = 60_000;
export const ACCOUNT = 'production';
/** Exit codes of a command that could not be run. */
const FAILED: readonly number[] = [EXIT.failed, EXIT.usage];
/** Operators with a token of their own. */
export const TOKENS = { reader: 'token-of-the-reader-of-all-voices', colleague: 'token-of-another-operator' } as const;
type Operator = keyof typeof TOKENS;
const START = Date.UTC(2026, 10, 20, 9);
/** Longest move of the service's time before the daemon's, in milliseconds. */
const STEP_MS = 1_000;
/** Time that a wait moves at once, after real time for programs to do their part; limit on hanging in real time. */
const WAIT_MS = 100;
const TURN_MS = 5;
const LIMIT_MS = 600_000;
/** Milliseconds of time between two messages to each destination. */
const TRAFFIC_EVERY_MS = 30_000;

/** Destinations, each with its own label. No policy selects `orphan`. */
export const PLACES = ['billing', 'shipping', 'mail', 'orphan'] as const;
export type Place = (typeof PLACES)[number];

export const POLICIES = {
  'resume-billing': { place: 'billing', mode: 'approve' },
  'resume-shipping': { place: 'shipping', mode: 'enforce' },
  'watch-mail': { place: 'mail', mode: 'audit' },
} as const;
export type PolicyName = keyof typeof POLICIES;

export type VoicesWorld = Awaited<ReturnType<typeof voicesWorld>>;

export async function voicesWorld(seed: number) {
  const emulator = await runEmulator({
    clock: systemClock,
    random: seededRandom(seed),
    listen: { host: '127.0.0.1', port: 0 },
    accounts: [{ id: 'acc-1', token: TEST_TOKEN }],
    management: { username: 'user', password: 'password' },
    enforceLimits: false,
    time: 'virtual',
    startAt: START,
  });
  onTestFinished(() => emulator.stop());
  const now = (): number => emulator.control.clock().now;
  const service: Service = { url: emulator.url, token: TEST_TOKEN };
  const sinks = new Map<Place, HttpSink>();
  for (const place of PLACES) sinks.set(place, await httpSink());
  /** Times of the requests that a destination rejected since it went down. */
  const down = new Map<Place, number[]>();
  const folder = tempDir();
  const file = join(folder, 'opsd.yaml');
  const url = `http://127.0.0.1:${await freePort()}`;
  for (const [name, token] of Object.entries(TOKENS)) writeFileSync(join(folder, name), token);
  let revision = 0;
  const write = (): void => writeFileSync(file, configOf({ url, service, revision, isRetentionKnown: seed % 2 === 1 }));
  write();
  const begin = (): Program =>
    clockedOpsd({ speed: 0, since: now(), aheadMs: -behindMs(seed) }, ['run', '--config', file]);
  let daemon = begin();
  /** Milliseconds until the daemon's next timer. */
  let nextIn = 0;
  const move = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0;) {
      const step = Math.min(left, Math.max(STEP_MS, nextIn));
      await emulator.advance(step);
      nextIn = await moveTime(daemon, step);
      left -= step;
    }
  };
  /** Moves time until the condition is true. */
  const moveUntil = async (what: string, isTrue: () => boolean): Promise<void> => {
    for (const limit = performance.now() + LIMIT_MS; !isTrue(); await move(WAIT_MS)) {
      if (performance.now() > limit) throw new Error(`${what} did not come true: ${daemon.stderr().slice(-2_000)}`);
      await new Promise((resolve) => setTimeout(resolve, TURN_MS));
    }
  };
  const hasStarted = (): Promise<void> => moveUntil('the daemon runs', () => starts(daemon) > 0);
  await hasStarted();
  const hosts = Object.fromEntries(PLACES.map((place) => [place, new URL(sinks.get(place)!.url).host]));
  /** Runs a command that only reads, as the operator on the daemon's machine or as another one. No time passes. */
  const look = async (args: readonly string[], operator?: Operator) => {
    const where = operator === undefined ? ['--socket', join(folder, 'opsd.db.sock')] : ['--url', url];
    const env: Record<string, string> = operator === undefined ? {} : { OPSD_TOKEN: TOKENS[operator] };
    const { code, stdout, stderr } = await opsd([...args, ...where], { env, clock: { ...systemClock, now } });
    return { code, out: stdout + stderr };
  };
  return {
    emulator,
    /** Address of the daemon, the same in each of its lives. */
    url,
    hosts: hosts as Readonly<Record<Place, string>>,
    look,
    /** Sets the responses of a destination. */
    set(place: Place, state: 'up' | 'down'): void {
      const rejected: number[] = [];
      if (state === 'down') down.set(place, rejected);
      else down.delete(place);
      sinks.get(place)!.answerWith((_request, response) => {
        if (state === 'down') rejected.push(now());
        response.writeHead(state === 'down' ? 503 : 200).end();
      });
    },
    isDown: (place: Place): boolean => down.has(place),
    /** Requests that a destination rejected in the last minutes; all of them if it was down as long. */
    failures: (place: Place, minutes: number): number =>
      (down.get(place) ?? []).filter((time) => time > now() - minutes * MINUTE).length,
    /** Fails runs of a destination that is down, and waits until the daemon lists them. */
    async fail(place: Place, runs: number): Promise<void> {
      const before = emulator.workflowDlq('acc-1').length;
      const headers = { 'Svc-Retries': '0', 'Svc-Label': place };
      const workflow = `${sinks.get(place)!.url}/workflow/${place}`;
      for (let run = 0; run < runs; run++) await trigger(service, workflow, headers);
      await moveUntil('runs have failed', () => emulator.workflowDlq('acc-1').length >= before + runs);
    },
    /** Lets time pass under traffic. */
    async pass(minutes: number): Promise<void> {
      for (const end = now() + minutes * MINUTE; now() < end; await move(TRAFFIC_EVERY_MS)) {
        const send = ({ url: to }: HttpSink) => publish(service, `${to}/ok`, { 'Svc-Retries': '0' });
        await Promise.all([...sinks.values()].map(send));
      }
    },
    /** Runs a command while time passes. @returns its output */
    async run(args: readonly string[], operator?: Operator): Promise<string> {
      let hasEnded = false;
      const command = look(args, operator).finally(() => (hasEnded = true));
      await moveUntil(`opsd ${args.join(' ')} has ended`, () => hasEnded);
      const { code, out } = await command;
      if (FAILED.includes(code)) throw new Error(`opsd ${args.join(' ')} failed: ${out}`);
      return out;
    },
    /** Changes the configuration in a place that no policy depends on, and waits until the daemon uses it. */
    async reload(): Promise<void> {
      const before = starts(daemon);
      revision += 1;
      write();
      await moveUntil('the daemon runs with the changed configuration', () => starts(daemon) > before);
    },
    /** Kills the daemon, and starts it again after these minutes. */
    async kill(minutes: number): Promise<void> {
      daemon.kill('SIGKILL');
      await daemon.ended;
      await emulator.advance(minutes * MINUTE);
      daemon = begin();
      await hasStarted();
    },
    /** Ends the daemon. @returns its exit code */
    async stop(): Promise<number | null> {
      daemon.kill('SIGTERM');
      let hasEnded = false;
      const ended = daemon.ended.finally(() => (hasEnded = true));
      await moveUntil('the daemon has ended', () => hasEnded);
      return (await ended).code;
    },
  };
}

/** How far the clock of the daemon is behind: not at all, less than its guard allows, or more. */
function behindMs(seed: number): number {
  return seed % 5 === 0 ? 90_000 : seed % 3 === 0 ? 30_000 : 0;
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
  tokens: [{ name: reader, tokenFile: reader, role: operator }, { name: colleague, tokenFile: colleague, role: operator }]
storage: { sqlite: { path: opsd.db } }
accounts:
  - name: ${ACCOUNT}
    messageApi: { url: "${service.url}", token: ${service.token} }
    managementApi: { url: "${service.url}", accountId: acc-1, username: user, password: password }
    client: { requestsPerSecond: 1000, requestsPerDay: ${1_000_000 + revision} }
    ${isRetentionKnown ? 'limits: { dlqRetention: 3d }' : ''}
    collectors:
      logs: { every: 30s, lag: 1s }
      workflowDlq: { every: 30s, full: 1m }
      accountStats: { every: 1m }
telemetry: { metrics: { newSeriesZeroFor: 0s } }
policies:${policies.join('')}
`;
}
