import { textOption, valueOption, type Command } from '../command.ts';
import { integerOption } from '../list-options.ts';
import { listenAddress } from './listen-option.ts';

const MAX_SEED = 4_294_967_295;

export const demoCommand: Command = {
  name: 'demo',
  summary: 'Run a daemon with sample traffic, without an account.',
  options: {
    listen: valueOption('ADDRESS', 'Address of metrics and pages; default: 127.0.0.1:10777.'),
    seed: valueOption('NUMBER', 'Makes the sample traffic repeatable.'),
  },
  details: 'Needs no account, no network and no configuration. The state is in a temporary folder.',
  examples: ['opsd demo', 'opsd demo --listen 127.0.0.1:8080 --seed 7'],
  async run({ programs, values }) {
    const listen = textOption(values, 'listen');
    const seed = integerOption(values, 'seed', { min: 0, max: MAX_SEED });
    return programs.demo({
      ...(listen !== undefined && { listen: listenAddress(listen) }),
      ...(seed !== undefined && { seed }),
    });
  },
};
