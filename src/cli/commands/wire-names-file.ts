/** File with the names of an installation, for the emulator: one file for all tests of a project. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { UsageError, type OptionValues } from '../command.ts';

/** Options by name in the file. */
const OPTIONS = { headerPrefix: 'header-prefix', product: 'product', issuer: 'issuer' } as const;

/**
 * Adds the options of the file. Options of the command line take precedence.
 *
 * @throws {UsageError} when the file cannot be read, or has other names or values
 */
export function withWireNames(values: OptionValues, file: string): OptionValues {
  let names: unknown;
  try {
    names = parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new UsageError(
      `--wire-names: cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  const known = Object.keys(OPTIONS);
  const pairs = typeof names === 'object' && names !== null && !Array.isArray(names) ? Object.entries(names) : [];
  if (pairs.length === 0) throw new UsageError(`--wire-names: ${file} must have ${known.join(', ')}`);
  const added = pairs.map(([name, value]: [string, unknown]) => {
    if (!known.includes(name))
      throw new UsageError(`--wire-names: unknown name ${name}; known are ${known.join(', ')}`);
    if (typeof value !== 'string') throw new UsageError(`--wire-names: ${name} must be a text`);
    return [OPTIONS[name as keyof typeof OPTIONS], value] as const;
  });
  return { ...Object.fromEntries(added), ...values };
}
