/**
 * A daemon with one canary over an embedded service, in this process, on a manual clock. All HTTP is real: the daemon
 * reaches the service over one road, and the service reaches the daemon's hooks listener over another one.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Daemon } from '#app/options.ts';
import type { CanaryVerdict, CanaryVia } from '#foundation/domain/canary.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { runEmulator, type RunningEmulator } from '#emulator/emulator.ts';
import type { Switches } from '#emulator/state/switches.ts';
import { memoryDir } from '../support/memory-dir.ts';
import { daemonOf } from '../support/process-daemon.ts';
import { openRoad, type Road } from './road.ts';

export const ACCOUNT_ID = 'acc-1';
export const TOKEN = 'stage-token';
export const FLOW_KEY = 'canary-key';
export const URL_GROUP = 'canary-group';
export const MANAGEMENT = { username: 'user', password: 'password' };
const SIGNING_KEY = 'stage-signing-key';

/** Interval of messages. It is longer than the timeout, so that one message at a time is in flight. */
const EVERY_MS = 60_000;
export const TIMEOUT_MS = 30_000;

export interface StageOptions {
  readonly clock: Clock;
  readonly seed: number;
  readonly via?: CanaryVia | undefined;
  /** Signing keys of the account are configured. */
  readonly signed: boolean;
  readonly switches: Partial<Switches>;
  /** Milliseconds by which the service's clock is ahead. */
  readonly skewMs?: number | undefined;
}

interface Verdict {
  readonly round: string;
  readonly verdict: CanaryVerdict;
  readonly reason: string;
}

export interface Stage extends AsyncDisposable {
  readonly clock: Clock;
  readonly emulator: RunningEmulator;
  readonly daemon: Daemon;
  /** From the daemon to the service. */
  readonly toService: Road;
  /** From the service, and from the daemon itself, to the hooks listener. */
  readonly toReceiver: Road;
  /** Verdicts in order. */
  readonly verdicts: readonly Verdict[];
  readonly log: readonly string[];
  /** Moves the wall clock of the daemon alone. */
  jump(ms: number): void;
}

const REAL_BYTES = 65_536;
const SMALL_BYTES = 256;

export async function openStage(options: StageOptions): Promise<Stage> {
  const { clock, seed, skewMs = 0 } = options;
  await using parts = new AsyncDisposableStack();
  const folder = mkdtempSync(join(memoryDir(), 'opsd-canary-'));
  parts.defer(() => rmSync(folder, { recursive: true, force: true }));
  const emulator = parts.use(
    await runEmulator({
      clock,
      control: true,
      startAt: clock.now() + skewMs,
      random: seededRandom(seed),
      listen: { host: '127.0.0.1', port: 0 },
      accounts: [{ id: ACCOUNT_ID, token: TOKEN, signingKeys: { current: SIGNING_KEY, next: `${SIGNING_KEY}-next` } }],
      management: MANAGEMENT,
      enforceLimits: false,
      // A skewed clock of the service is in its signatures too.
      switches: { ...options.switches, signatureTime: 'virtual' },
    }),
  );
  const toService = parts.use(await openRoad(clock));
  const toReceiver = parts.use(await openRoad(clock));
  toService.lead(emulator.url);
  const arrivals = `${toReceiver.url}/hooks/canary/production/trip`;
  await emulator.control.seed({ urlGroups: [{ name: URL_GROUP, endpoints: [{ url: arrivals }] }] });

  const path = join(folder, 'opsd.yaml');
  writeFileSync(path, configuration(options, { toService, toReceiver }));
  let jumped = 0;
  const daemonClock: Clock = {
    now: () => clock.now() + jumped,
    monotonic: () => clock.monotonic(),
    after: (ms, run) => clock.after(ms, run),
  };
  const log: string[] = [];
  const verdicts: Verdict[] = [];
  const daemon = parts.use(
    await daemonOf(path, {
      clock: daemonClock,
      random: seededRandom(seed + 1),
      write(line) {
        log.push(line);
        if (line.includes('"canary verdict')) verdicts.push(JSON.parse(line) as Verdict);
      },
    }),
  );
  toReceiver.lead(daemon.hooks!);
  const owned = parts.move();
  return {
    clock,
    emulator,
    daemon,
    toService,
    toReceiver,
    verdicts,
    log,
    jump: (ms) => void (jumped += ms),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function configuration(
  { via, signed }: StageOptions,
  { toService, toReceiver }: Pick<Stage, 'toService' | 'toReceiver'>,
): string {
  const canary = {
    name: 'trip',
    every: `${EVERY_MS / 1_000}s`,
    timeout: `${TIMEOUT_MS / 1_000}s`,
    size: SMALL_BYTES,
    realSize: REAL_BYTES,
    // The second message is the only one of the real size.
    realEvery: '30d',
    ...(via !== undefined && { via }),
  };
  const callbacks = `  callbacks: { production: { token: callback-token, signingKeys: ${SIGNING_KEY} } }`;
  // Collectors read nothing during a case, so that all requests are those of the canary.
  return `
server: { listen: "127.0.0.1:0" }
storage: { sqlite: { path: opsd.db } }
log: { level: debug }
hooks:
  listen: "127.0.0.1:0"
  publicUrl: "${toReceiver.url}"
${signed ? callbacks : ''}
accounts:
  - name: production
    messageApi: { url: "${toService.url}", token: ${TOKEN} }
    managementApi: { url: "${toService.url}", accountId: ${ACCOUNT_ID}, username: user, password: password }
    client: { requestsPerSecond: 1000, timeout: 5s }
    canaries: [${JSON.stringify(canary)}]
`;
}
