/**
 * `opsd demo`: the daemon over the embedded service with sample traffic. The daemon is the same as in production and
 * knows nothing of the demo. Its configuration (demo.yaml) has the address and the credentials of the service started
 * for it.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatProblems, loadConfig } from '#config/load.ts';
import type { Config } from '#config/config.ts';
import { runEmulator, type RunningEmulator } from '#emulator/emulator.ts';
import { replayHistory } from '#emulator/control/history.ts';
import { startSampleDestinations, type SampleDestinations } from '#emulator/sample/destinations.ts';
import { startSampleTraffic, type SampleTraffic } from '#emulator/sample/traffic.ts';
import type { LogLevel } from '#foundation/platform/logger.ts';
import type { ListenAddress } from '#foundation/settings/listen-address.ts';
import { isLoopback } from '#foundation/platform/private-address.ts';
import { seededRandom, systemRandom } from '#foundation/platform/random.ts';
import type { Tour } from '#operate/show/tour.ts';
import type { CliIo } from '../command.ts';
import { demoScreen, type DemoDaemon } from './demo-screen.ts';

export interface DemoOptions {
  readonly listen?: ListenAddress;
  readonly seed?: number;
}

/** Fixed credentials: the service listens on loopback, and users of the demo may call it as well. */
const SERVICE = { account: 'acc-demo', token: 'demo-token', username: 'demo', password: 'demo-password' };
const HISTORY_DAYS = 30;
/** Limit for half an hour of the sample traffic, so that the demo stops growing after its first hour. */
export const DEMO_LOG_MAX_ENTRIES = 40_000;
/** Short, so that a user can watch the end of a resumed run. */
const SETTLE_MS = 20_000;
/** Short, so that an outage, its halt and its recovery take minutes. */
const PACE = { breakerMs: [20_000, 40_000, 80_000], listEveryMs: 5_000 };

/** Settings of the demo for its daemon. */
export interface DemoRun {
  readonly config: Config;
  readonly level: LogLevel;
  readonly settleMs: number;
  readonly pace: { readonly breakerMs: readonly number[]; readonly listEveryMs: number };
  /** Called when the daemon responds; the returned part ends before the daemon does. */
  readonly onStarted: (daemon: DemoDaemon) => Disposable;
  readonly logSink?: { write(text: string): unknown };
  readonly tour: Tour;
  readonly signIn?: { readonly code: string; readonly by: string; readonly role: 'operator' };
}

/** @param run runs the daemon until the signal, and returns the exit code */
export async function runDemo(
  options: DemoOptions,
  io: CliIo,
  run: (daemon: DemoRun) => Promise<number>,
): Promise<number> {
  const { clock } = io;
  const { seed } = options;
  const random = seed === undefined ? systemRandom : seededRandom(seed);
  // The order of ids must not decide what is sent.
  const ofTraffic = seed === undefined ? systemRandom : seededRandom(seed + 1);
  await using stack = new AsyncDisposableStack();

  const folder = mkdtempSync(join(tmpdir(), 'opsd-demo-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const destinations = stack.use(await startSampleDestinations({ clock, random, seed }));
  const emulator = stack.use(
    await runEmulator({
      clock,
      // Real time, but with a past that only a test can set: the mails of this morning.
      time: 'real',
      random,
      listen: { host: '127.0.0.1', port: 0 },
      accounts: [{ id: SERVICE.account, token: SERVICE.token }],
      management: SERVICE,
      hosts: destinations.hosts,
      logMaxEntries: DEMO_LOG_MAX_ENTRIES,
      onError: (error) => io.stderr.write(`the embedded service failed: ${String(error)}\n`),
    }),
  );
  replayHistory({
    statistics: emulator.statistics,
    accountId: SERVICE.account,
    random,
    now: clock.now(),
    days: HISTORY_DAYS,
  });
  // Some dead mails remain from this morning's traffic, for the prune to delete.
  await emulator.control.seed({
    deadLetters: [
      { url: 'https://email.vendor.example/v1/send', labels: ['newsletter'], status: 503, count: 60, agoMs: 5_400_000 },
    ],
  });
  const traffic = stack.use(
    await startSampleTraffic({
      emulatorUrl: emulator.url,
      token: SERVICE.token,
      headerPrefix: 'Svc',
      management: { accountId: SERVICE.account, username: SERVICE.username, password: SERVICE.password },
      clock,
      random: ofTraffic,
    }),
  );

  const hooksListen = io.env['OPSD_DEMO_HOOKS_LISTEN'] ?? `127.0.0.1:${await freePort()}`;
  const hooksUrl = `http://127.0.0.1:${hooksListen.split(':').at(-1)}`;
  const config = demoConfig(folder, { emulator, traffic, hooksListen, hooksUrl, options, io });
  const screen = demoScreen(emulator, { url: emulator.url, account: SERVICE.account, token: SERVICE.token }, io);
  // Others who reach the daemon only read.
  const code = isLoopback(config.server.listen.host) ? randomBytes(24).toString('base64url') : undefined;
  const daemon: DemoRun = {
    config,
    level: config.log.level,
    settleMs: SETTLE_MS,
    pace: PACE,
    onStarted: (started) => screen.show(started, code),
    tour: demoTour(destinations, hooksUrl),
    ...(code !== undefined && { signIn: { code, by: 'demo', role: 'operator' } }),
    ...(screen.logSink && { logSink: screen.logSink }),
  };
  try {
    return await run(daemon);
  } catch (error) {
    // The message names a configuration key, but the demo has no configuration file.
    if (error instanceof Error && error.name === 'ListenError') {
      error.message = error.message.replace('server.listen', '--listen');
    }
    throw error;
  }
}

function demoTour(destinations: SampleDestinations, hooksUrl: string): Tour {
  let release = 41;
  return {
    title: 'Demo: all of this is sample data.',
    readOnly: 'To act, open the address that the program printed: it signs in once.',
    steps: [
      { text: 'Break the invoices, and watch the incident and the halt.', path: '/incidents' },
      { text: 'Approve the plan that waits.', path: '/' },
      { text: 'Deploy the fix, and watch the queue drain.', path: '/dead-letters' },
    ],
    buttons: () =>
      destinations.isBroken()
        ? [{ id: 'mend', label: 'Deploy the fix' }]
        : [{ id: 'break', label: 'Break the invoices', isDanger: true }],
    async press(id) {
      destinations.setBroken(id === 'break');
      if (id === 'mend') await reportDeploy(hooksUrl, `v${++release}`);
    },
  };
}

/** Reports a deploy as a pipeline does. The token is that of demo.yaml. */
async function reportDeploy(hooksUrl: string, version: string): Promise<void> {
  const { ok, status } = await fetch(`${hooksUrl}/hooks/deploy`, {
    method: 'POST',
    headers: { authorization: 'Bearer demo-hook-token', 'content-type': 'application/json' },
    body: JSON.stringify({ of: ['app.shop.example'], version }),
  });
  if (!ok) throw new Error(`the hook answered ${status}`);
}

/** Returns a port that no program uses now. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

interface DemoParts {
  readonly emulator: RunningEmulator;
  readonly traffic: SampleTraffic;
  /** Address of the hooks listener. The service delivers the canary to it, so its port must be known. */
  readonly hooksListen: string;
  readonly hooksUrl: string;
  readonly options: DemoOptions;
  readonly io: CliIo;
}

function demoConfig(folder: string, { emulator, traffic, hooksListen, hooksUrl, options, io }: DemoParts): Config {
  const path = fileURLToPath(new URL('demo.yaml', import.meta.url));
  const loaded = loadConfig(path, {
    env: {
      ...io.env,
      OPSD_DEMO_FOLDER: folder,
      OPSD_DEMO_HOOKS_LISTEN: hooksListen,
      OPSD_DEMO_HOOKS_URL: hooksUrl,
      OPSD_DEMO_URL: emulator.url,
      OPSD_DEMO_ACCOUNT: SERVICE.account,
      OPSD_DEMO_TOKEN: SERVICE.token,
      OPSD_DEMO_USERNAME: SERVICE.username,
      OPSD_DEMO_PASSWORD: SERVICE.password,
      // Midnight UTC of the day on which the sample traffic set the budget.
      OPSD_DEMO_TODAY: new Date(io.clock.now()).toISOString().slice(0, 10),
      OPSD_DEMO_SEARCH_INDEX: traffic.searchIndexId,
      OPSD_DEMO_VECTOR_INDEX: traffic.vectorIndexId,
      // On a terminal, only warnings may appear between the lines of the summary.
      OPSD_DEMO_LOG_LEVEL: io.stdout.isTTY === true ? 'warn' : 'info',
    },
  });
  if (!loaded.ok) throw new Error(`the demo's own configuration is invalid:\n${formatProblems(loaded.problems)}`);
  if (options.listen === undefined) return loaded.config;
  return { ...loaded.config, server: { ...loaded.config.server, listen: options.listen } };
}
