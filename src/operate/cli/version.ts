import { readFileSync } from 'node:fs';
import { EXIT, type Command } from './command.ts';

export const versionCommand: Command = {
  name: 'version',
  summary: 'Print the version of opsd and of Node.',
  options: {},
  run({ io }) {
    io.stdout.write(`opsd ${packageVersion()} (node ${process.versions.node})\n`);
    return Promise.resolve(EXIT.ok);
  },
};

/** The version in the package's own package.json. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}
