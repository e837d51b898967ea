import { resolve } from 'node:path';
import { CommandError, EXIT, textOption, UsageError, type Call, type Command } from './command.ts';
import { CONFIG_OPTION, configPath, readConfig } from './config-file.ts';
import { commandOf, findSocket, SOCKET_OPTION } from './daemon-option.ts';

export const stateCommand: Command = {
  name: 'state',
  summary: 'Copy the store, put a copy back, let it act again.',
  operands: { usage: 'backup FILE | restore FILE | adopt', min: 1, max: 2 },
  options: {
    reason: { type: 'string', value: 'TEXT', help: 'adopt: why this store may act; kept in the audit log.' },
    config: CONFIG_OPTION,
    socket: SOCKET_OPTION,
  },
  details:
    'backup asks the running daemon for a copy as of one moment. restore puts one in the place of the store while no\n' +
    'daemon runs; the store that was there is kept beside it. A restored store does not know what was done since: the\n' +
    'daemon watches and plans, and does nothing until a person has looked and says: adopt.',
  async run(call) {
    const [verb = '', file] = call.positionals;
    switch (verb) {
      case 'backup':
        return backup(call, neededFile(verb, file));
      case 'restore':
        return restore(call, neededFile(verb, file));
      case 'adopt':
        if (file !== undefined) throw new UsageError(`state adopt does not take '${file}'`);
        return adopt(call);
      default:
        throw new UsageError(`state takes backup FILE, restore FILE or adopt, not '${verb}'`);
    }
  },
};

async function backup(call: Call, file: string): Promise<number> {
  const socketPath = await findSocket(call);
  if (socketPath === undefined) return EXIT.failed;
  const { requestBackup } = await import('./daemon-client.ts');
  const bytes = await requestBackup(resolve(file), { socketPath, signal: call.io.signal, command: commandOf(call) });
  call.io.stdout.write(`${resolve(file)}: ${bytes.toLocaleString('en-US')} bytes.\n`);
  return EXIT.ok;
}

async function restore({ io, values }: Call, file: string): Promise<number> {
  if (textOption(values, 'socket') !== undefined)
    throw new UsageError('state restore works on the file, not on a daemon');
  const config = await readConfig(io, configPath(values, io.env), { secrets: false });
  if (config === undefined) return EXIT.failed;
  const { path } = config.storage.sqlite;
  const { restoreStore } = await import('#storage/backup.ts');
  const label = new Date(io.clock.now()).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const kept = restoreStore(file, path, { label });
  io.stdout.write(`${path} is now the copy ${file}.\n`);
  if (kept !== undefined) io.stdout.write(`The store that was there is ${kept}.\n`);
  const adopt = commandOf({ io, values })('state adopt --reason TEXT');
  io.stdout.write(`The daemon will do nothing with it until: ${adopt}\n`);
  return EXIT.ok;
}

async function adopt(call: Call): Promise<number> {
  const reason = textOption(call.values, 'reason')?.trim() ?? '';
  if (reason === '') throw new UsageError('--reason is needed: why may this store act?');
  const socketPath = await findSocket(call);
  if (socketPath === undefined) return EXIT.failed;
  const { requestAdopt } = await import('./daemon-client.ts');
  const because = await requestAdopt(reason, { socketPath, signal: call.io.signal, command: commandOf(call) });
  call.io.stdout.write(because === undefined ? 'Nothing was to be adopted.\n' : `Adopted, although ${because}.\n`);
  return EXIT.ok;
}

function neededFile(verb: string, file: string | undefined): string {
  if (file === undefined) throw new UsageError(`state ${verb} needs FILE`);
  if (file.trim() === '') throw new CommandError(`state ${verb}: the name of the file is empty`);
  return file;
}
