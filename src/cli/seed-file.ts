/** Reads the file of `opsd emulator --seed`, with the place of each problem. */
import type { Seed } from '#emulator/control/seed-body.ts';
import { checkSchema } from '#config/check-schema.ts';
import { formatProblems } from '#config/problem.ts';
import { readSource } from '#config/read-file.ts';
import type { Fault } from '#config/source-text.ts';
import { problemsOf, readYaml, unreadProblem } from '#config/yaml-file.ts';
import { faultAt, placeAt } from '#config/yaml-place.ts';
import { CommandError } from './command.ts';

export interface SeedFile {
  readonly seed: Seed;
  /** Returns the error for a problem that the emulator found, `messages.2: …`, at its place in the file. */
  readonly error: (problem: Error) => Error;
}

/** @throws {CommandError} with every problem as file:line:column */
export async function readSeedFile(path: string, color: boolean): Promise<SeedFile> {
  const { SEED } = await import('#emulator/control/seed-body.ts');
  const read = readSource(path, path);
  if (!read.ok) throw new CommandError(formatProblems([unreadProblem(read)], { color }));
  const yaml = readYaml({ source: read.source, env: {}, isPlain: true });
  const refuse = (faults: readonly Fault[]): CommandError =>
    new CommandError(formatProblems(problemsOf(yaml, faults), { color }));
  const { root } = yaml;
  if (root === undefined) throw refuse([]);
  const { value, faults } = checkSchema(SEED, root);
  if (value === undefined || yaml.faults.length > 0) throw refuse(faults);
  return {
    seed: value as Seed,
    error: (problem) => {
      const [, where, message] = /^([\w.]+): (.*)$/s.exec(problem.message) ?? [];
      const at = where?.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part));
      const place = at && placeAt(root, at);
      return place === undefined ? problem : refuse([faultAt(place, { message: message! })]);
    },
  };
}
