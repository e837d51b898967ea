import { EXIT, type Command } from '../command.ts';
import { confirm, neededReason, REASON_OPTION, YES_OPTION } from '../confirm.ts';
import { DAEMON_OPTIONS, findDaemon } from '../daemon-option.ts';
import { request } from '../daemon-request.ts';
import { OUTPUT_OPTION, outputFormat, printable, writeData } from '../output.ts';

export const cancelCommand: Command = {
  name: 'cancel',
  summary: 'Cancel a manual plan: nothing more is sent.',
  operands: { usage: 'PLAN', min: 1, max: 1, names: 'plan' },
  options: { reason: REASON_OPTION, yes: YES_OPTION, ...DAEMON_OPTIONS, output: OUTPUT_OPTION },
  details:
    'The request in flight finishes, and outcomes are still verified. A cancelled plan cannot be continued. To stop it\n' +
    'for a while: opsd pause --policy manual:PLAN. To stop a policy: opsd pause --policy POLICY.',
  examples: ["opsd cancel 9f3c2a77b1 --reason 'wrong label'", "opsd cancel 9f3c2a77b1 --reason 'wrong label' --yes"],
  async run(call) {
    const format = outputFormat(call.values);
    const reason = neededReason(call, 'why are you canceling the plan?');
    const daemon = await findDaemon(call);
    if (daemon === undefined) return EXIT.failed;
    const [plan = ''] = call.positionals;
    await confirm(call, `Cancel plan ${printable(plan)}?`);
    const { plan: cancelled } = await request(daemon, 'POST /api/v1/cancel', { body: { plan, reason } }, 'plan');
    if (format !== 'table') await writeData(call.io, format, { plan: cancelled });
    else call.io.stdout.write(`Plan ${printable(cancelled.id)} is ${printable(cancelled.state)}.\n`);
    return EXIT.ok;
  },
};
