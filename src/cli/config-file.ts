/** Configuration of a command, with its problems. */
import { existsSync } from 'node:fs';
import type { Config } from '#config/config.ts';
import {
  ReportedError,
  textOption,
  valueOption,
  type Call,
  type CliIo,
  type OptionSpec,
  type OptionValues,
} from './command.ts';
import { usesColor } from './output.ts';

export const CONFIG_OPTION: OptionSpec = valueOption(
  'FILE',
  'Configuration; default: $OPSD_CONFIG, else ./config.yaml.',
  { short: 'c' },
);

export function configPath(values: OptionValues, env: CliIo['env']): string {
  return textOption(values, 'config') ?? (env['OPSD_CONFIG'] || 'config.yaml');
}

/** Reads the configuration and writes warnings to stderr. Undefined if it is invalid, which was reported there. */
export async function readConfig(
  io: CliIo,
  path: string,
  options: { readonly secrets: boolean },
): Promise<Config | undefined> {
  const { formatProblems, loadConfig } = await import('#config/load.ts');
  const loaded = loadConfig(path, { env: io.env, secrets: options.secrets });
  const problems = loaded.ok ? loaded.warnings : loaded.problems;
  if (problems.length > 0) {
    io.stderr.write(`${formatProblems(problems, { color: usesColor(io.stderr, io.env) })}\n`);
  }
  if (!loaded.ok && !existsSync(path))
    io.stderr.write('  help: set the configuration with --config FILE or OPSD_CONFIG\n');
  return loaded.ok ? loaded.config : undefined;
}

/** Reads the configuration. @throws {ReportedError} if it is invalid */
export async function neededConfig(
  { io, values }: Pick<Call, 'io' | 'values'>,
  options: { readonly secrets: boolean },
): Promise<Config> {
  const config = await readConfig(io, configPath(values, io.env), options);
  if (config === undefined) throw new ReportedError();
  return config;
}
