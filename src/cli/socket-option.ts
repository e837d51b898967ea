/** Which running daemon a command means. */
import { textOption, type Call, type OptionSpec } from './command.ts';
import { configPath, readConfig } from './config-file.ts';

export const SOCKET_OPTION: OptionSpec = {
  type: 'string',
  value: 'PATH',
  help: 'Socket of the daemon; default: the one beside its store.',
};

/** The socket's path; undefined when the configuration is not usable, which has then been said on stderr. */
export async function findSocket({ io, values }: Call): Promise<string | undefined> {
  const given = textOption(values, 'socket');
  if (given !== undefined) return given;
  const { socketPathOf } = await import('./daemon-client.ts');
  // Only the store's path is wanted: the files of secrets may be readable by the daemon alone.
  const config = await readConfig(io, configPath(values, io.env), { secrets: false });
  return config === undefined ? undefined : socketPathOf(config.storage.sqlite.path);
}
