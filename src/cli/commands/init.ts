import { existsSync } from 'node:fs';
import { ownCommand } from '#foundation/domain/own-command.ts';
import { CommandError, EXIT, textOption, valueOption, type Command } from '../command.ts';
import { printable } from '../output.ts';

export const initCommand: Command = {
  name: 'init',
  summary: 'Write a configuration for an account, and try its credentials.',
  options: {
    'message-url': valueOption('URL', 'Base URL of the message API.'),
    'token-file': valueOption('FILE', 'File with its token, - for stdin; default: $MSGSVC_TOKEN.'),
    'management-url': valueOption('URL', 'Base URL of the management API; absent without it.'),
    'account-id': valueOption('ID', 'Id of the account in the management API.'),
    username: valueOption('NAME', 'User of the management API.'),
    'password-file': valueOption('FILE', 'File with its password or API key, - for stdin; default: $MSGSVC_PASSWORD.'),
    'header-prefix': valueOption('NAME', 'Prefix of the service’s headers; default: Svc, or as found.'),
    product: valueOption('NAME', 'Name in management paths; default: msgsvc, or as found.'),
    account: valueOption('NAME', 'Name of the account in opsd; default: production.'),
    output: valueOption('FILE', 'Configuration to write; default: config.yaml.'),
    force: { type: 'boolean', help: 'Replace existing files.' },
  },
  details:
    'Asks on a terminal for what is missing. Sends only GET requests. Secrets never appear in arguments: they come from a ' +
    'file, the environment, stdin, or a prompt without an echo. A secret that is not in a file of its own is written ' +
    'to secrets/ beside the configuration, readable by its owner only. If an API does not answer, nothing is written.',
  examples: ['opsd init', 'opsd init --message-url https://eu.msgsvc.example --token-file ./token'],
  async run(call) {
    const file = textOption(call.values, 'output') ?? 'config.yaml';
    const isForced = call.values['force'] === true;
    if (existsSync(file) && !isForced) {
      throw new CommandError(
        `${file} exists; nothing was changed. Replace it with --force, or name another with --output`,
      );
    }
    const { discover } = await import('./init-discover.ts');
    const { answersOf } = await import('./init-answers.ts');
    const { writeFiles } = await import('./init-files.ts');
    const found = await discover(await answersOf(call), call.io);
    for (const line of found.report) call.io.stdout.write(`${printable(line)}\n`);
    if (found.draft === undefined) throw new CommandError('nothing was written');
    const written = writeFiles(file, found.draft, { env: call.io.env, isForced });
    for (const warning of written.warnings) call.io.stderr.write(`warning: ${printable(warning)}\n`);
    call.io.stdout.write(`\nWritten: ${written.files.map(printable).join(', ')}\n`);
    const next = ownCommand(call.io.env, ['--config', file]);
    call.io.stdout.write(`Start the daemon: ${next('run')}\nThen check it:    ${next('doctor')}\n`);
    return EXIT.ok;
  },
};
