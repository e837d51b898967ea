import { packageVersion } from '#foundation/platform/package-version.ts';
import { EXIT, type Command } from '../command.ts';

export const versionCommand: Command = {
  name: 'version',
  summary: 'Print the version of opsd and of Node.',
  options: {},
  examples: ['opsd version', 'opsd version --help'],
  run({ io }) {
    io.stdout.write(`opsd ${packageVersion()} (node ${process.versions.node})\n`);
    return Promise.resolve(EXIT.ok);
  },
};
