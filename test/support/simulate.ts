/** `npm run simulate` in a separate process. */
import { join } from 'node:path';
import { start } from './program.ts';

const SIMULATE = join(import.meta.dirname, '../simulation/simulate.ts');

export interface Simulated {
  readonly code: number | null;
  readonly stdout: string;
  readonly last: string;
}

export async function simulate(args: string): Promise<Simulated> {
  const { code, stdout, stderr } = await start('node', [SIMULATE, ...args.split(' ')]).output();
  return { code, stdout: stdout + stderr, last: stdout.trimEnd().split('\n').at(-1)! };
}
