/** Other programs, run to their end. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface Ran {
  /** Undefined if it could not be started, or was ended by a signal. */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly uid?: number;
  readonly gid?: number;
  readonly timeoutMs?: number;
}

export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { timeoutMs, ...rest } = options;
  const child = spawn(command, args, {
    ...rest,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(timeoutMs !== undefined && { timeout: timeoutMs, killSignal: 'SIGKILL' }),
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ code: undefined, stdout, stderr: error.message }));
    child.on('close', (code) => resolve({ code: code ?? undefined, stdout, stderr }));
  });
}

/** @throws {Error} with the end of its output, when it fails */
export async function mustRun(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, options);
  if (code === 0) return stdout;
  const said = `${stdout}\n${stderr}`.trim().split('\n').slice(-20).join('\n');
  throw new Error(`${command} ${args[0] ?? ''} ended with ${code ?? 'a signal'}:\n${said}`);
}

/** Returns the path of a program; undefined when it is not installed. */
export function pathOf(program: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
}
