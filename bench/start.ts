/**
 * Cold start and resident memory.
 *
 * Start: time from process start to the first scraped response. Contestants are `opsd run` with an emulator process, a
 * bare program with prom-client (the floor), and Alertmanager if installed (a comparable daemon with pages and a
 * store). They alternate within one run. The ratios to the floor are the result, because machines differ and are noisy.
 *
 * Memory: after a minute of `opsd run` with an emulator process, and after a minute of the demo.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { figures, freePort, pause, residentBytes, stop, untilScraped, type Figures } from './measure.ts';

const ROOT = join(import.meta.dirname, '..');
const MAIN = join(ROOT, 'src/opsd.js');
const NODE = [process.execPath, '--max-semi-space-size=2'] as const;
const ALERTMANAGER = '/usr/bin/prometheus-alertmanager';
const ROUNDS = 11;
const MEMORY_AFTER_MS = 60_000;

const folder = mkdtempSync(join(tmpdir(), 'opsd-bench-'));
const emulatorPort = await freePort();
const emulator = spawn(
  NODE[0],
  [NODE[1], MAIN, 'emulator', '--listen', `127.0.0.1:${emulatorPort}`, '--token', 'bench-token'],
  { stdio: 'ignore' },
);

function daemonConfig(port: number, name: string): string {
  const file = join(folder, `${name}.yaml`);
  writeFileSync(
    file,
    `
server: { listen: "127.0.0.1:${port}" }
storage: { sqlite: { path: ${name}.db } }
accounts:
  - name: bench
    messageApi: { url: "http://127.0.0.1:${emulatorPort}", token: bench-token }
    managementApi: { url: "http://127.0.0.1:${emulatorPort}", accountId: acc-1, username: user, password: password }
`,
  );
  return file;
}

interface Contestant {
  readonly name: string;
  readonly times: number[];
  start(round: number, port: number): { readonly args: readonly string[]; readonly command: string };
}

const contestants: Contestant[] = [
  {
    name: 'bare Node and prom-client (floor)',
    times: [],
    start: (_round, port) => ({ command: NODE[0], args: [NODE[1], join(ROOT, 'bench/bare.ts'), String(port)] }),
  },
  {
    name: 'opsd run',
    times: [],
    start: (round, port) => ({
      command: NODE[0],
      args: [NODE[1], MAIN, 'run', '--config', daemonConfig(port, `run-${round}`)],
    }),
  },
];
if (existsSync(ALERTMANAGER)) {
  const file = join(folder, 'alertmanager.yml');
  writeFileSync(file, 'route: { receiver: none }\nreceivers: [{ name: none }]\n');
  contestants.push({
    name: 'Alertmanager (peer)',
    times: [],
    start: (round, port) => ({
      command: ALERTMANAGER,
      args: [
        `--config.file=${file}`,
        `--storage.path=${join(folder, `am-${round}`)}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--cluster.listen-address=',
        '--log.level=error',
      ],
    }),
  });
}

async function memoryAfterAMinute(args: readonly string[], port: number): Promise<number> {
  const { child } = await untilScraped(NODE[0], [NODE[1], MAIN, ...args], `http://127.0.0.1:${port}/metrics`);
  // Scraped every five seconds, as a monitored daemon is.
  for (let waited = 0; waited < MEMORY_AFTER_MS; waited += 5_000) {
    await pause(5_000);
    await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  }
  const bytes = residentBytes(child.pid!);
  await stop(child);
  return bytes;
}

try {
  // Round 0 fills the caches (the operating system's, and Node's compile cache) and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const contestant of contestants) {
      const port = await freePort();
      const { command, args } = contestant.start(round, port);
      const { child, firstScrapeMs } = await untilScraped(command, args, `http://127.0.0.1:${port}/metrics`);
      if (round > 0) contestant.times.push(firstScrapeMs);
      await stop(child);
    }
  }
  const floor = figures(contestants[0]!.times);
  console.log(`start to first scrape, ${ROUNDS} rounds          median     min     max  x floor`);
  for (const { name, times } of contestants) console.log(line(name, figures(times), floor));

  const runPort = await freePort();
  const run = await memoryAfterAMinute(['run', '--config', daemonConfig(runPort, 'memory')], runPort);
  const demoPort = await freePort();
  const demo = await memoryAfterAMinute(['demo', '--listen', `127.0.0.1:${demoPort}`, '--seed', '1'], demoPort);
  console.log(`\nresident memory after a minute: opsd run ${mega(run)} MB, opsd demo ${mega(demo)} MB`);
} finally {
  await stop(emulator);
  rmSync(folder, { recursive: true, force: true });
}

function line(name: string, { min, median, max }: Figures, floor: Figures): string {
  const cells = [median, min, max].map((value) => `${Math.round(value)} ms`.padStart(7));
  return `${name.padEnd(38)}${cells.join(' ')}  ${(median / floor.median).toFixed(2)}`;
}

function mega(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
