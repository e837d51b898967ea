import { request } from '../daemon-request.ts';
import { formatCount } from '#foundation/domain/counted.ts';
import { resolve } from 'node:path';
import { CommandError, EXIT, textOption, UsageError, valueOption, type Call, type Command } from '../command.ts';
import { CONFIG_OPTION, neededConfig } from '../config-file.ts';
import { neededReason } from '../confirm.ts';
import { commandOf, findLocalDaemon, SOCKET_OPTION } from '../daemon-option.ts';
import { printable } from '../output.ts';

export const stateCommand: Command = {
  name: 'state',
  summary: 'Back up the store, restore it, adopt it, or reset a ruined counter.',
  operands: {
    usage: 'backup FILE | restore FILE | adopt | reset-counter METRIC',
    min: 1,
    max: 2,
    names: ['backup', 'restore', 'adopt', 'reset-counter'],
  },
  options: {
    reason: valueOption('TEXT', 'adopt, reset-counter: reason, recorded in the audit log.'),
    account: valueOption('NAME', 'reset-counter: account of the counter.', { names: 'account' }),
    label: valueOption('NAME=VALUE', 'reset-counter: only counters with this label; repeat it for several labels.', {
      multiple: true,
    }),
    config: CONFIG_OPTION,
    socket: SOCKET_OPTION,
  },
  details:
    'backup makes the running daemon write a consistent copy. restore replaces the store by a copy while no daemon ' +
    'runs; the replaced store is kept next to it. A restored store lacks later actions, so the daemon only reads and ' +
    'plans until an operator has checked it and runs adopt. reset-counter sets a counter of /metrics to 0 after a wrong ' +
    'value of the service has ruined it; to Prometheus this is a counter reset.',
  examples: [
    'opsd state backup /backup/opsd.db',
    "opsd state adopt --reason 'restored from the backup of last night'",
    "opsd state reset-counter msgsvc_account_billing_dollars_total --reason '2^64'",
  ],
  async run(call) {
    const [command = '', file] = call.positionals;
    switch (command) {
      case 'backup':
        return backup(call, neededFile(command, file));
      case 'restore':
        return restore(call, neededFile(command, file));
      case 'adopt':
        if (file !== undefined) throw new UsageError(`state adopt does not take '${file}'`);
        return adopt(call);
      case 'reset-counter':
        return resetCounter(call, file);
      default:
        throw new UsageError(
          `the operands of state must be backup FILE, restore FILE, adopt or reset-counter METRIC, not '${command}'`,
        );
    }
  },
};

async function backup(call: Call, file: string): Promise<number> {
  const daemon = await findLocalDaemon(call);
  const { bytes } = await request(daemon, 'POST /api/v1/state/backup', { body: { file: resolve(file) } }, 'bytes');
  call.io.stdout.write(`${resolve(file)}: ${formatCount(bytes)} bytes.\n`);
  return EXIT.ok;
}

async function restore({ io, values }: Call, file: string): Promise<number> {
  if (textOption(values, 'socket') !== undefined)
    throw new UsageError('state restore works on the file, not on a daemon; remove --socket');
  const { localPath: path, storage } = await neededConfig({ io, values }, { secrets: false });
  if (storage.postgres !== undefined) {
    throw new CommandError(
      'state restore replaces an SQLite file, and storage.postgres is configured: restore the database with its own ' +
        'tools (docs/backup.md), or move a copy into an empty database with `opsd state copy`',
    );
  }
  const { restoreStore } = await import('#storage/backup.ts');
  const label = new Date(io.clock.now()).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const kept = restoreStore(file, path, { label });
  io.stdout.write(`${path} is restored from ${file}.\n`);
  if (kept !== undefined) io.stdout.write(`The previous store is ${kept}.\n`);
  const adopt = commandOf({ io, values })('state adopt --reason TEXT');
  io.stdout.write(`The daemon will not act on it until: ${adopt}\n`);
  return EXIT.ok;
}

async function adopt(call: Call): Promise<number> {
  const reason = neededReason(call, 'why may this store act?');
  const daemon = await findLocalDaemon(call);
  const { adopted } = await request(daemon, 'POST /api/v1/state/adopt', { body: { reason } });
  call.io.stdout.write(
    adopted === null ? 'The store needs no adoption.\n' : `Adopted. The store was not trusted: ${adopted}.\n`,
  );
  return EXIT.ok;
}

async function resetCounter(call: Call, metric: string | undefined): Promise<number> {
  const account = textOption(call.values, 'account');
  if (metric === undefined || account === undefined)
    throw new UsageError('state reset-counter needs METRIC and --account NAME');
  const labels = Object.fromEntries(
    ((call.values['label'] as string[] | undefined) ?? []).map((text) => {
      const [, name, value = ''] = /^([a-z_]+)=(.*)$/s.exec(text) ?? [];
      if (name === undefined) throw new UsageError(`--label must be NAME=VALUE, not '${text}'`);
      return [name, value];
    }),
  );
  const reason = neededReason(call, 'why is the counter wrong?');
  const daemon = await findLocalDaemon(call);
  const body = { account, metric, labels, reason };
  const { reset } = await request(daemon, 'POST /api/v1/state/reset-counter', { body }, 'reset');
  for (const { labels: shown, value } of reset) {
    const text = Object.entries({ account, ...shown }).map(([name, label]) => `${name}="${label}"`);
    call.io.stdout.write(`${printable(`${metric}{${text.join(',')}} was ${value}, and is 0 now.`)}\n`);
  }
  if (reset.length > 0) return EXIT.ok;
  throw new CommandError(`account ${account} has no counter ${metric} with these labels; nothing was reset`);
}

function neededFile(command: string, file: string | undefined): string {
  if (file === undefined) throw new UsageError(`state ${command} needs FILE`);
  if (file.trim() === '') throw new CommandError(`state ${command}: the name of the file is empty`);
  return file;
}
