import { EXIT, type Command } from './command.ts';
import { CONFIG_OPTION, configPath, readConfig } from './config-file.ts';

export const runCommand: Command = {
  name: 'run',
  summary: 'Run the daemon.',
  options: { config: CONFIG_OPTION },
  details:
    'Runs until SIGINT or SIGTERM, which end it cleanly; a second one ends it at once. Logs go to stderr, as JSON\n' +
    'when that is not a terminal. Secrets come from files or the environment, never from arguments.',
  async run({ io, programs, values }) {
    const config = await readConfig(io, configPath(values, io.env), { secrets: true });
    return config === undefined ? EXIT.failed : programs.run({ config });
  },
};
