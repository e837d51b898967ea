/** The real program in a separate process, observed through its output. It ends with the test. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { FastTime } from './fast-clock.ts';
import { tempDir } from './temp-dir.ts';
import { until } from './until.ts';

const ROOT = join(import.meta.dirname, '../..');
const SOURCES = join(ROOT, 'src/opsd.js');
const CLOCKED = join(import.meta.dirname, 'programs/clocked-opsd.ts');
/** Flags of the package's scripts. */
const NODE_FLAGS = ['--min-semi-space-size=2', '--max-semi-space-size=4'];

const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'NODE_COMPILE_CACHE'];

type LogLine = Readonly<Record<string, unknown>>;

export interface Program {
  readonly pid: number;
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Returns the parsed log lines of the program, without lines that are not JSON. */
  log(): readonly LogLine[];
  /** Returns the log lines with this message. */
  said(message: string): readonly LogLine[];
  /** Resolves to the first log line with this message. */
  logged(message: string): Promise<LogLine>;
  kill(signal: NodeJS.Signals): void;
  /** Exit code and signal, once it has ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  /** Resolves to its exit code and its whole output, once it has ended. */
  output(): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>;
  /** Ends it with SIGTERM, and waits. @throws {Error} unless it ends with exit code 0 */
  stop(): Promise<void>;
  /** Ends it with SIGKILL, and waits. @throws {Error} if it has ended by itself before */
  crash(): Promise<void>;
}

/** Starts any program; `node` is this process's own. */
export function start(
  command: string,
  args: readonly string[],
  options: { env?: Record<string, string>; cwd?: string; ipc?: boolean } = {},
): Program {
  const child = spawn(command, args, {
    cwd: options.cwd ?? ROOT,
    env: { ...Object.fromEntries(INHERITED.map((name) => [name, process.env[name]])), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe', ...(options.ipc === true ? ['ipc' as const] : [])],
  });
  let stdout = '';
  let stderr = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
  async function end(signal: NodeJS.Signals, isMeant: (end: Awaited<typeof ended>) => boolean): Promise<void> {
    child.kill(signal);
    const end = await ended;
    if (!isMeant(end))
      throw new Error(`${[command, ...args].join(' ')} ended with ${end.code ?? end.signal}: ${stderr}`);
  }
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended.catch(() => undefined);
  });
  const log = (): LogLine[] =>
    stderr
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .flatMap((line) => {
        try {
          return [JSON.parse(line) as LogLine];
        } catch {
          return [];
        }
      });
  return {
    pid: child.pid ?? 0,
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    log,
    said: (message) => log().filter((line) => line['msg'] === message),
    logged: (message) =>
      until({ what: `log line "${message}" of ${[command, ...args].join(' ')}` }, () => {
        const line = log().find((candidate) => candidate['msg'] === message);
        if (line === undefined && (child.exitCode !== null || child.signalCode !== null)) {
          throw new Error(`ended with ${child.exitCode ?? child.signalCode}: ${stderr || stdout}`);
        }
        return line;
      }),
    kill: (signal) => void child.kill(signal),
    ended,
    output: async () => ({ code: (await ended).code, stdout, stderr }),
    stop: () => end('SIGTERM', ({ code }) => code === 0),
    crash: () => end('SIGKILL', ({ signal }) => signal === 'SIGKILL'),
  };
}

/** Starts a program of Node as the package does. What it leaves in the folder of temporary files goes with the test. */
function startNode(command: readonly string[], { env, ...options }: Parameters<typeof start>[2] = {}): Program {
  return start(process.execPath, [...NODE_FLAGS, ...command], { ...options, env: { TMPDIR: tempDir(), ...env } });
}

/** Starts `opsd` with these arguments: the bundle in system tests, and else the sources. */
export function opsd(args: readonly string[], options: { env?: Record<string, string>; cwd?: string } = {}): Program {
  return startNode([process.env['OPSD_TEST_PROGRAM'] ?? SOURCES, ...args], options);
}

/** Starts the sources of `opsd`. */
export function opsdFromSources(args: readonly string[], options: { env: Record<string, string> }): Program {
  return startNode([SOURCES, ...args], options);
}

/** Starts `opsd` with a wall clock that is ahead by milliseconds, with faster time, or with stopped time (`moveTime`). */
export function clockedOpsd(
  { aheadMs = 0, speed = 1, since = 0 }: { readonly aheadMs?: number } & Partial<FastTime>,
  args: readonly string[],
  { env }: { env?: Record<string, string> } = {},
): Program {
  const time = {
    OPSD_TEST_AHEAD_MS: String(Math.round(aheadMs)),
    OPSD_TEST_SPEED: String(speed),
    OPSD_TEST_SINCE: String(since),
  };
  return startNode([CLOCKED, ...args], { env: { ...env, ...time }, ipc: speed === 0 });
}

export interface EmulatorProgram extends Program {
  readonly url: string;
}

/** Starts the embedded service in a separate process: account acc-1, token test-token, management user:password. */
export async function emulatorProgram(args: readonly string[] = []): Promise<EmulatorProgram> {
  const program = opsd([
    'emulator',
    '--listen=127.0.0.1:0',
    '--token=test-token',
    '--management=user:password',
    '--account=acc-1',
    ...args,
  ]);
  const ready = await until({ what: 'the emulator is ready' }, () => {
    const line = program.stdout().split('\n')[0];
    return line?.startsWith('{') && line.endsWith('}') ? (JSON.parse(line) as { url: string }) : undefined;
  });
  return { ...program, url: ready.url };
}

const GO_TOOLS = join(ROOT, 'deploy/tools/build.sh');

/** Returns the path of an external program; undefined if it is not installed, which is an error in CI. */
export function installed(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const inFolder = (folder: string): string => join(folder, name);
  const path =
    folders.map(inFolder).find((candidate) => existsSync(candidate)) ??
    [inFolder(execFileSync(GO_TOOLS, ['--folder'], { encoding: 'utf8' }).trim())].find(existsSync);
  if (path === undefined && process.env['CI'] !== undefined)
    throw new Error(`${name} is not installed, and CI skips nothing`);
  return path;
}
