/** Shared parts of the benchmarks: processes timed from outside, figures as medians, ratios within one run. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Started {
  readonly child: ChildProcess;
  /** Milliseconds from spawning to the first scrape with status 200 and a body. */
  readonly firstScrapeMs: number;
}

/** Starts a program and scrapes it until it responds. */
export async function untilScraped(command: string, args: readonly string[], url: string): Promise<Started> {
  const started = performance.now();
  const child = spawn(command, args, { stdio: 'ignore' });
  while (performance.now() - started < 30_000) {
    if (child.exitCode !== null) throw new Error(`${command} ${args.join(' ')} ended with ${child.exitCode}`);
    try {
      const response = await fetch(url);
      const body = await response.text();
      if (response.status === 200 && body.length > 0) return { child, firstScrapeMs: performance.now() - started };
    } catch {
      // The program does not listen yet.
    }
    await pause(2);
  }
  child.kill('SIGKILL');
  throw new Error(`${command} did not answer ${url} within 30 s`);
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export async function stop(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.kill(signal);
  await ended;
}

/** Returns the resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(match![1]) * 1_024;
}

/** Returns the CPU time of all threads of a process, in milliseconds. */
export function cpuMs(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  const times = readdirSync(tasks).map((task) => readFileSync(join(tasks, task, 'schedstat'), 'utf8').split(' ')[0]);
  return times.reduce((sum, nanoseconds) => sum + Number(nanoseconds) / 1e6, 0);
}

/** Returns the milliseconds that a program takes from its start to its end. */
export async function timeOf(command: string, args: readonly string[]): Promise<number> {
  const started = performance.now();
  const child = spawn(command, args, { stdio: 'ignore' });
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${String(code)}`);
  return performance.now() - started;
}

export interface Figures {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

export function figures(values: readonly number[]): Figures {
  const sorted = values.toSorted((a, b) => a - b);
  return { min: sorted[0]!, median: sorted[Math.floor(sorted.length / 2)]!, max: sorted.at(-1)! };
}

/** CPU time and memory of a process and its children. */
export interface Usage {
  readonly cpuMs: number;
  /** Memory in bytes. Shared memory counts once. */
  readonly bytes: number;
}

/** Returns the usage of a process with its children, also of the CPU time of those that have ended. */
export function usageWithChildren(pid: number): Usage {
  const ended = statOf(pid).slice(13, 15);
  const pids = [pid, ...childrenOf(pid)];
  return {
    cpuMs: sum(pids.map((one) => unlessEnded(() => cpuMs(one)))) + sum(ended.map(Number)) * TICK_MS,
    bytes: sum(pids.map((one) => unlessEnded(() => proportionalBytes(one)))),
  };
}

/** Returns 0 for a process that ends while it is read, such as a worker of the database. */
function unlessEnded(read: () => number): number {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return 0;
    throw error;
  }
}

/** Returns the parent of a process. */
export function parentOf(pid: number): number {
  return Number(statOf(pid)[1]);
}

/** The system counts the CPU time of ended processes in hundredths of a second. */
const TICK_MS = 10;

function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

/** Returns the fields after the name of the program: state, parent, and so on; 13 and 14 are times of ended children. */
function statOf(pid: number): readonly string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function proportionalBytes(pid: number): number {
  const match = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
  return Number(match![1]) * 1_024;
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
