/** `opsd run`: the daemon of a configuration. */
import type { Config } from '../config/config.ts';
import type { CliIo } from './command.ts';
import { runUntilStopped, type StartDaemon } from './daemon.ts';

export function runDaemon(config: Config, io: CliIo, start: StartDaemon): Promise<number> {
  return runUntilStopped({ config, level: config.log.level }, io, start);
}
