import { textOption, valueOption } from '../command.ts';
import { neededReason, REASON_OPTION } from '../confirm.ts';
import { daemonCommand } from '../daemon-command.ts';
import { request } from '../daemon-request.ts';
import { printable } from '../output.ts';

export const pauseCommand = daemonCommand({
  name: 'pause',
  summary: 'Pause all policies, or one: no more requests are sent.',
  options: {
    policy: valueOption('NAME', 'Only this policy; default: all policies.', { names: 'policy' }),
    reason: REASON_OPTION,
  },
  details:
    'Takes effect without confirmation. The daemon checks it before every request, so at most the request in flight is ' +
    'sent. It lasts across restarts until opsd unpause. Metrics and pages continue. If no daemon responds: create the ' +
    'file of engine.killSwitchFile, or stop the daemon.',
  examples: ["opsd pause --reason 'checkout is odd'", "opsd pause --policy resume-billing --reason 'checkout is odd'"],
  async answer(call, findDaemon) {
    const reason = neededReason(call, 'why are you pausing?');
    const daemon = await findDaemon();
    const policy = textOption(call.values, 'policy');
    const data = await request(daemon, 'POST /api/v1/pause', { body: { reason, policy } }, 'paused');
    const { paused } = data;
    const what = paused === 'engine' ? 'All policies are' : `Policy ${printable(paused.replace(/^policy\//, ''))} is`;
    const option = paused === 'engine' ? '' : ` --policy ${printable(policy ?? '')}`;
    return { data, text: `${what} paused. To lift it: ${daemon.command(`unpause${option} --reason TEXT`)}\n` };
  },
});
