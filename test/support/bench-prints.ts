/** A bench that must print its figures. */
import { expect } from 'vitest';
import { BENCHES, valueIn } from '../../bench/drift-figures.ts';
import { OWN_SERVERS } from './postgres/servers.ts';
import { start } from './program.ts';

export interface BenchRun {
  readonly script: string;
  readonly sizes: Readonly<Record<string, number | string>>;
  /** Lines of the output, one of each at least. */
  readonly prints: readonly RegExp[];
}

/**
 * Runs a bench to its end. Returns the lines that it did not print, and the figures without a value among those that
 * `bench:drift` compares.
 */
export async function unprinted({ script, sizes, prints }: BenchRun): Promise<readonly string[]> {
  const [name = '', ...sections] = script.split(' ');
  const folder = name === 'emulator' ? 'emulator/bench' : 'bench';
  const env = Object.fromEntries(Object.entries(sizes).map(([key, value]) => [key, String(value)]));
  const bench = start(process.execPath, ['--expose-gc', `${folder}/${name}.ts`, ...sections], { env });
  expect(await bench.ended, bench.stderr()).toEqual({ code: 0, signal: null });
  const compared = BENCHES.find((one) => one.name === script)?.figures ?? [];
  const figures = compared.filter((figure) => OWN_SERVERS.length > 0 || !figure.name.includes('PostgreSQL'));
  return [
    ...prints.filter((line) => !line.test(bench.stdout())).map(String),
    ...figures.filter((figure) => !(valueIn(bench.stdout(), figure)! > 0)).map((figure) => figure.name),
  ];
}
