/** Runs a program of this folder that kills itself. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'vitest';

/** @returns what it wrote before */
export async function dying(program: string, ...args: readonly string[]): Promise<string> {
  const command = [join(import.meta.dirname, `${program}.ts`), ...args];
  const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  const signal = await new Promise<string | null>((resolve) => child.on('close', (_code, by) => resolve(by)));
  expect(signal).toBe('SIGKILL');
  return out;
}
