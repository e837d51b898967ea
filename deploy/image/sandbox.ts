/**
 * Runs the image as a container engine would. It runs as its own user without any capability, on a read-only root, with
 * its own process ids and its own network of a loopback device. Only /tmp and the store are writable.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { BuiltImage, ImageConfig } from './buildah.ts';
import { USER } from './machine.ts';
import { pathOf, run, type Ran } from './run.ts';

export interface SandboxOptions {
  /** A folder of the image's user, in place of the volume. */
  readonly store: string;
  /** A file at /etc/opsd. */
  readonly config?: string;
  /** Replaces the image's CMD. */
  readonly args?: readonly string[];
  /** Replaces the image's user, with group 0, as OpenShift does. */
  readonly user?: number;
}

export interface Sandbox {
  /**
   * Resolves to the seconds from the start until the output contains this text.
   *
   * @throws {Error} with the log, when it ends before
   */
  printed(text: string): Promise<number>;
  /** Runs another program in the same sandbox, as the same user, as exec of container engines does. */
  exec(words: readonly string[]): Promise<Ran>;
  /** Bytes of memory: present and peak. */
  memory(): { readonly resident: number; readonly peak: number };
  /** Sends SIGTERM to the first process. */
  stop(): Promise<{ readonly code: number | undefined; readonly seconds: number; readonly log: string }>;
}

const PATIENCE_MS = 60_000;
/** Folders that engines mount, and therefore create. */
const MOUNT_POINTS = ['proc', 'dev', 'sys'];

export async function startSandbox({ root, config }: BuiltImage, options: SandboxOptions): Promise<Sandbox> {
  const [uid, gid] = options.user === undefined ? [USER, USER] : [options.user, 0];
  for (const name of MOUNT_POINTS) mkdirSync(join(root, name), { recursive: true });
  const began = performance.now();
  const child = spawn(
    // The environment is the image's, so its PATH finds nothing on this machine.
    pathOf('bwrap')!,
    [
      ...words(`--ro-bind ${root} / --proc /proc --dev /dev --tmpfs /tmp --bind ${options.store} /var/lib/opsd`),
      ...words(options.config === undefined ? '' : `--ro-bind ${options.config} /etc/opsd`),
      ...words(`--unshare-all --as-pid-1 --die-with-parent --chdir ${config.WorkingDir} --info-fd 3 --`),
      ...config.Entrypoint,
      ...(options.args ?? config.Cmd),
    ],
    { cwd: '/', env: environment(config), uid, gid, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] },
  );
  const ended = new Promise<number | undefined>((resolve) => {
    child.on('error', () => resolve(undefined));
    child.on('close', (code) => resolve(code ?? undefined));
  });
  let log = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (text: string) => (log += text));
  const info = (await text(child.stdio[3] as Readable)) || '{}';
  const pid = (JSON.parse(info) as { 'child-pid'?: number })['child-pid'];
  if (pid === undefined) {
    await ended;
    throw new Error(`the sandbox does not start:\n${log}`);
  }

  return {
    async printed(wanted) {
      while (performance.now() - began < PATIENCE_MS) {
        if (log.includes(wanted)) return (performance.now() - began) / 1_000;
        if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}:\n${log}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      throw new Error(`it does not print ${wanted} within ${PATIENCE_MS / 1_000} s:\n${log}`);
    },
    exec: ([program, ...args]) =>
      run(
        pathOf('nsenter')!,
        [
          ...words(`--target ${pid} --mount --net --pid --ipc --setuid ${uid} --setgid ${gid} --wd --`),
          program!,
          ...args,
        ],
        { cwd: '/', env: environment(config), timeoutMs: PATIENCE_MS },
      ),
    memory() {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      const bytes = (name: string): number =>
        Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1_024;
      return { resident: bytes('VmRSS'), peak: bytes('VmHWM') };
    },
    async stop() {
      const from = performance.now();
      process.kill(pid, 'SIGTERM');
      const code = await ended;
      return { code, seconds: (performance.now() - from) / 1_000, log };
    },
  };
}

/** Folders of the image and of this script have no spaces. */
function words(text: string): string[] {
  return text.split(' ').filter((word) => word !== '');
}

function environment({ Env }: ImageConfig): Record<string, string> {
  return Object.fromEntries(Env.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
}

async function text(stream: Readable): Promise<string> {
  let all = '';
  for await (const part of stream.setEncoding('utf8')) all += String(part);
  return all;
}
