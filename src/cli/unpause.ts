import { EXIT, textOption, UsageError, type Command } from './command.ts';
import { CONFIG_OPTION } from './config-file.ts';
import { findSocket, SOCKET_OPTION } from './socket-option.ts';

export const unpauseCommand: Command = {
  name: 'unpause',
  summary: 'Lift the pauses that the daemon put on itself.',
  options: {
    reason: { type: 'string', value: 'TEXT', help: 'Why it may act again; kept in the ledger.' },
    config: CONFIG_OPTION,
    socket: SOCKET_OPTION,
  },
  details:
    'The daemon pauses itself when the service does other than it was asked, or when its books do not balance. Look at\n' +
    'the status page first. A kill switch file is lifted by removing it, not by this.',
  async run(call) {
    const reason = textOption(call.values, 'reason')?.trim() ?? '';
    if (reason === '') throw new UsageError('--reason is needed: why may it act again?');
    const socketPath = await findSocket(call);
    if (socketPath === undefined) return EXIT.failed;
    const { requestUnpause } = await import('./daemon-client.ts');
    const lifted = await requestUnpause(reason, { socketPath, signal: call.io.signal });
    call.io.stdout.write(
      lifted === 0 ? 'Nothing was paused.\n' : `Lifted ${lifted} ${lifted === 1 ? 'pause' : 'pauses'}.\n`,
    );
    return EXIT.ok;
  },
};
