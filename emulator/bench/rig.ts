/** Shared parts of the emulator's benchmark: separate processes, requests, latencies from both sides. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { freePort } from '../../test/support/free-port.ts';
import { pause, residentBytes } from '../../bench/measure.ts';
import type { Observed } from './observe.ts';

const ROOT = join(import.meta.dirname, '../..');
export const TOKEN = 'bench-token';
export const ACCOUNT = 'acc-1';
export const CALLERS = 64;
const WARM_UP = 20;
/** Milliseconds: a full start reads a gigabyte. */
const PATIENCE_MS = 120_000;
const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
const smallBody = JSON.stringify({ order: 1, items: 'x'.repeat(150) });

export interface Running {
  readonly child: ChildProcess;
  readonly url: string;
}

interface Slow {
  readonly name: string;
  readonly outside: number;
  readonly inside: number;
  readonly pause: number;
}

export class Rig implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'opsd-bench-'));
  readonly #dispatcher = new Agent({ connections: CALLERS });
  readonly #children: ChildProcess[] = [];
  readonly #slow: Slow[] = [];

  node(args: readonly string[]): ChildProcess {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    this.#children.push(child);
    return child;
  }

  async emulator(args: readonly string[] = []): Promise<Running> {
    const port = await freePort();
    const own = ['emulator', '--no-limits', '--listen', `127.0.0.1:${port}`, '--token', TOKEN, '--account', ACCOUNT];
    const observed = ['--import', join(import.meta.dirname, 'observe.ts')];
    const child = this.node([...observed, join(ROOT, 'src/opsd.js'), ...own, ...args]);
    const url = `http://127.0.0.1:${port}`;
    await answering(`${url}/v2/topics`);
    return { child, url };
  }

  async sink(): Promise<Running> {
    const port = await freePort();
    const child = this.node([join(import.meta.dirname, 'sink.ts'), String(port)]);
    const url = `http://127.0.0.1:${port}/`;
    await answering(url);
    return { child, url };
  }

  async send(method: 'GET' | 'POST' | 'DELETE', url: string, options: SendOptions = {}): Promise<string> {
    const { body = smallBody, more = {} } = options;
    const response = await request(url, {
      method,
      headers: { ...headers, ...more },
      dispatcher: this.#dispatcher,
      ...(method === 'POST' && { body }),
    });
    const text = await response.body.text();
    if (response.statusCode !== 200) throw new Error(`${method} ${url} answered ${response.statusCode}: ${text}`);
    return text;
  }

  /**
   * Runs `ask` `times` times in sequence, and prints median and 99th percentile: outside, inside, and the work of one.
   */
  async latency(child: ChildProcess, name: string, { times = 200, ask }: Asking): Promise<void> {
    const outside: number[] = [];
    for (let round = -WARM_UP; round < times; round++) {
      if (round === 0) await observedBy(child);
      const started = performance.now();
      await ask(round + WARM_UP);
      if (round >= 0) outside.push(performance.now() - started);
    }
    const { requestMs, cpuMs, pauseMs } = await observedBy(child);
    const longest = Math.max(0, ...pauseMs);
    outside.forEach((ms, index) =>
      this.#slow.push({ name, outside: ms, inside: requestMs[index] ?? NaN, pause: longest }),
    );
    const told = [...spread(outside), ...spread(requestMs), mean(cpuMs), spread(cpuMs)[1], longest];
    const cells = told.map((ms) => `${ms.toFixed(1)} ms`.padStart(10));
    console.log(`${name.padEnd(36)}${cells.join('')}`);
  }

  tellWorst(): void {
    if (this.#slow.length === 0) return;
    console.log('\nslowest requests from inside                  outside    inside  longest pause of their kind');
    for (const { name, ...ms } of this.#slow.toSorted((a, b) => b.inside - a.inside).slice(0, 8)) {
      const cells = [ms.outside, ms.inside, ms.pause].map((value) => `${value.toFixed(1)} ms`.padStart(10));
      console.log(`${name.padEnd(44)}${cells.join('')}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    }
    await this.#dispatcher.destroy();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

interface SendOptions {
  readonly body?: string;
  readonly more?: Readonly<Record<string, string>>;
}

interface Asking {
  readonly times?: number;
  readonly ask: (round: number) => Promise<unknown>;
}

export const LATENCY_HEAD = `${''.padEnd(36)}${['median', 'p99', 'inside', 'p99', 'CPU', 'p99', 'longest GC'].map((cell) => cell.padStart(10)).join('')}`;

async function observedBy(child: ChildProcess): Promise<Observed> {
  const told = once(child, 'message') as Promise<[Observed]>;
  child.send('tell');
  return (await told)[0];
}

async function answering(url: string): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await pause(20)) {
    if (
      await request(url, { headers }).then(
        ({ body: rest }) => rest.dump().then(() => true),
        () => false,
      )
    )
      return;
  }
  throw new Error(`${url} does not answer`);
}

function spread(values: readonly number[]): readonly [median: number, p99: number] {
  const sorted = values.toSorted((a, b) => a - b);
  return [sorted[Math.floor(sorted.length / 2)] ?? NaN, sorted[Math.floor(sorted.length * 0.99)] ?? NaN];
}

/**
 * Returns the mean, which is used for work. The system reports work in steps of milliseconds, which are accurate only
 * in total.
 */
function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function mega(child: ChildProcess): string {
  return `${(residentBytes(child.pid!) / 1e6).toFixed(0)} MB`;
}

export function seconds(started: number): string {
  return `${((performance.now() - started) / 1_000).toFixed(1)} s`;
}
