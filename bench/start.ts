/**
 * Cold start, resident memory, and size of the package, as `npm pack` writes it.
 *
 * Start: time and CPU time from process start to the first scraped response. Contestants are `opsd run` with an emulator
 * process, a bare program with prom-client (the floor), and Alertmanager if installed (a comparable daemon with pages and
 * a store). They alternate within one run. The ratios to the floor are the result, because machines differ and are noisy.
 *
 * Commands: time of `opsd version`, and of `opsd plan` with a running daemon, beside `node -e 0`.
 *
 * Memory: after a minute of `opsd run` with an emulator process, and after a minute of the demo.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../test/support/free-port.ts';
import { cpuMs, figures, pause, residentBytes, stop, timeOf, untilScraped, type Figures } from './measure.ts';

const ROOT = join(import.meta.dirname, '..');
const NODE = process.execPath;
/** Flags of the image and of the package's scripts. */
const FLAGS = ['--min-semi-space-size=2', '--max-semi-space-size=4'];
const ALERTMANAGER = '/usr/bin/prometheus-alertmanager';
const ROUNDS = Number(process.env['ROUNDS'] ?? 11);
const MEMORY_AFTER_MS = 60_000;
/** False to leave out the memory. */
const HAS_MEMORY = process.env['MEMORY'] !== 'no';

const folder = mkdtempSync(join(tmpdir(), 'opsd-bench-'));
process.env['XDG_CACHE_HOME'] = folder;
const tarball = execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], {
  cwd: ROOT,
  encoding: 'utf8',
});
const packedBytes = statSync(join(folder, tarball.trim())).size;
execFileSync('tar', ['-xzf', join(folder, tarball.trim()), '-C', folder]);
const MAIN = join(folder, 'package/dist/opsd.js');

const emulatorPort = await freePort();
const emulator = spawn(
  NODE,
  [...FLAGS, MAIN, 'emulator', '--listen', `127.0.0.1:${emulatorPort}`, '--token', 'bench-token'],
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
  readonly cpu: number[];
  start(round: number, port: number): { readonly args: readonly string[]; readonly command: string };
}

/** @param storeOf returns the name of the store in a round */
function daemon(name: string, storeOf: (round: number) => string): Contestant {
  return {
    name,
    times: [],
    cpu: [],
    start: (round, port) => ({
      command: NODE,
      args: [...FLAGS, MAIN, 'run', '--config', daemonConfig(port, storeOf(round))],
    }),
  };
}

const contestants: Contestant[] = [
  {
    name: 'bare Node and prom-client (floor)',
    times: [],
    cpu: [],
    start: (_round, port) => ({ command: NODE, args: [...FLAGS, join(ROOT, 'bench/bare.js'), String(port)] }),
  },
  daemon('opsd run, with a new store', (round) => `run-${round}`),
  daemon('opsd run, with its previous store', () => 'again'),
];
if (existsSync(ALERTMANAGER)) {
  const file = join(folder, 'alertmanager.yml');
  writeFileSync(file, 'route: { receiver: none }\nreceivers: [{ name: none }]\n');
  contestants.push({
    name: 'Alertmanager (peer)',
    times: [],
    cpu: [],
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
  const { child } = await untilScraped(NODE, [...FLAGS, MAIN, ...args], `http://127.0.0.1:${port}/metrics`);
  // Scraped every five seconds, as a monitored daemon is.
  for (let waited = 0; waited < MEMORY_AFTER_MS; waited += 5_000) {
    await pause(5_000);
    await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  }
  const bytes = residentBytes(child.pid!);
  await stop(child);
  return bytes;
}

async function memory(): Promise<void> {
  const runPort = await freePort();
  const run = await memoryAfterAMinute(['run', '--config', daemonConfig(runPort, 'memory')], runPort);
  const demoPort = await freePort();
  const demo = await memoryAfterAMinute(['demo', '--listen', `127.0.0.1:${demoPort}`, '--seed', '1'], demoPort);
  console.log(`\nresident memory after a minute: opsd run ${mega(run)} MB, opsd demo ${mega(demo)} MB`);
}

/** Commands, with a running daemon. */
async function commandTimes(): Promise<void> {
  const port = await freePort();
  const config = daemonConfig(port, 'commands');
  const run = [...FLAGS, MAIN, 'run', '--config', config];
  const { child } = await untilScraped(NODE, run, `http://127.0.0.1:${port}/metrics`);
  const commands = [
    { name: 'node -e 0 (floor)', args: ['-e', '0'], times: [] as number[] },
    { name: 'opsd version', args: [MAIN, 'version'], times: [] as number[] },
    { name: 'opsd plan', args: [MAIN, 'plan', '--config', config], times: [] as number[] },
  ];
  for (let round = 0; round <= ROUNDS; round++) {
    for (const { args, times } of commands) {
      const time = await timeOf(NODE, args);
      if (round > 0) times.push(time);
    }
  }
  await stop(child);
  const floor = figures(commands[0]!.times);
  console.log(`\ncommands, ${ROUNDS} rounds                       median     min     max  x floor`);
  for (const { name, times } of commands) console.log(line(name, figures(times), floor));
}

try {
  // Round 0 fills the caches (the operating system's, and Node's compile cache) and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const contestant of contestants) {
      const port = await freePort();
      const { command, args } = contestant.start(round, port);
      const { child, firstScrapeMs } = await untilScraped(command, args, `http://127.0.0.1:${port}/metrics`);
      if (round > 0) {
        contestant.times.push(firstScrapeMs);
        contestant.cpu.push(cpuMs(child.pid!));
      }
      await stop(child);
    }
  }
  const [floor, floorCpu] = [figures(contestants[0]!.times), figures(contestants[0]!.cpu)];
  console.log(`start to first scrape, ${ROUNDS} rounds          median     min     max  x floor`);
  for (const { name, times } of contestants) console.log(line(name, figures(times), floor));
  console.log('CPU time of it');
  for (const { name, cpu } of contestants) console.log(line(name, figures(cpu), floorCpu));
  await commandTimes();

  if (HAS_MEMORY) await memory();
  console.log(`package, packed: ${(packedBytes / 1e6).toFixed(1)} MB`);
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
