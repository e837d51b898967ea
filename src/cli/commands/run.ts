import type { Command } from '../command.ts';
import { CONFIG_OPTION, configPath, neededConfig } from '../config-file.ts';

export const runCommand: Command = {
  name: 'run',
  summary: 'Run the daemon.',
  options: { config: CONFIG_OPTION },
  details:
    'Runs until SIGINT or SIGTERM, which stop it cleanly; a second one kills it. SIGHUP, opsd reload and a change ' +
    'of its files reload the configuration; an invalid one changes nothing. Logs go to stderr, as JSON ' +
    'if stderr is not a terminal. Secrets come from files or the environment, never from arguments.',
  examples: ['opsd run --config opsd.yaml', 'OPSD_MODE=audit opsd run --config opsd.yaml'],
  async run(call) {
    const config = await neededConfig(call, { secrets: true });
    return call.programs.run({ config, path: configPath(call.values, call.io.env) });
  },
};
