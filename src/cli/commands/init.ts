import { existsSync } from 'node:fs';
import { ownCommand } from '#foundation/domain/own-command.ts';
import { CommandError, EXIT, textOption, valueOption, type Call, type Command } from '../command.ts';
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
    account: valueOption('NAME', 'Name of the account in opsd; default: production, in a new file.'),
    output: valueOption('FILE', 'Configuration to write, or to which the account is added; default: config.yaml.'),
    force: { type: 'boolean', help: 'Replace existing files.' },
  },
  details:
    'Asks on a terminal for what is missing, and again for what the service rejects. Adds the account to an existing file, ' +
    'whose other text stays. Sends only GET requests. Secrets never appear in arguments: they come from a ' +
    'file, the environment, stdin, or a prompt without an echo. A secret that is not in a file of its own is written ' +
    'to secrets/ beside the configuration, readable by its owner only. If an API does not answer, nothing is written.',
  examples: [
    'opsd init',
    'opsd init --message-url https://eu.msgsvc.example --token-file ./token',
    'opsd init --account eu',
  ],
  async run(call) {
    const { io, values } = call;
    const file = textOption(values, 'output') ?? 'config.yaml';
    const isForced = values['force'] === true;
    const isAdded = existsSync(file) && !isForced;
    const { discover } = await import('./init-discover.ts');
    const { answersOf } = await import('./init-answers.ts');
    const { existingText, writeFiles } = await import('./init-files.ts');
    const account = isAdded ? await addedName(call, file) : (textOption(values, 'account') ?? 'production');
    const existing = isAdded ? existingText(file, account, io.env) : undefined;
    const draft = await discover(await answersOf(call, account), io);
    if (draft === undefined) throw new CommandError('nothing was written');
    const written = writeFiles(file, draft, { env: io.env, isForced, ...(existing !== undefined && { existing }) });
    for (const warning of written.warnings) io.stderr.write(`warning: ${printable(warning)}\n`);
    io.stdout.write(`\nWritten: ${written.files.map(printable).join(', ')}\n`);
    const next = ownCommand(io.env, ['--config', file]);
    const start = isAdded ? 'A running daemon loads the file by itself; else start it' : 'Start the daemon';
    io.stdout.write(`${start}: ${next('run')}\nThen check it:    ${next('doctor')}\n`);
    return EXIT.ok;
  },
};

/** Name of an account that is added to a file. It has no default: an existing file is never changed by chance. */
async function addedName({ io, values }: Call, file: string): Promise<string> {
  const question = `${file} exists. Name of the account to add (empty: stop): `;
  const name = textOption(values, 'account') ?? (await io.ask?.(question))?.trim() ?? '';
  if (name !== '') return name;
  throw new CommandError(
    `${file} exists; nothing was changed. Add an account to it with --account NAME, replace it with --force, or name another file with --output`,
  );
}
