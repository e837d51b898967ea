/** `npm run simulate` in a separate process. */
import { join } from 'node:path';
import { start } from './program.ts';

const SIMULATE = join(import.meta.dirname, '../simulation/simulate.ts');

export interface Simulated {
  readonly code: number | null;
  readonly stdout: string;
  readonly last: string;
}

/** @param args separated by blanks, or one by one */
export async function simulate(args: string | readonly string[]): Promise<Simulated> {
  const list = typeof args === 'string' ? args.split(' ') : args;
  const { code, stdout, stderr } = await start('node', [SIMULATE, ...list]).output();
  return { code, stdout: stdout + stderr, last: stdout.trimEnd().split('\n').at(-1)! };
}
