import { confirm, neededReason, REASON_OPTION, YES_OPTION } from '../confirm.ts';
import { daemonCommand } from '../daemon-command.ts';
import { request } from '../daemon-request.ts';
import { printable } from '../output.ts';

export const cancelCommand = daemonCommand({
  name: 'cancel',
  summary: 'Cancel a manual plan: nothing more is sent.',
  operands: { usage: 'PLAN', min: 1, max: 1, names: 'plan' },
  options: { reason: REASON_OPTION, yes: YES_OPTION },
  details:
    'The request in flight finishes, and outcomes are still verified. A cancelled plan cannot be continued. To stop it ' +
    'for a while: opsd pause --policy manual:PLAN. To stop a policy: opsd pause --policy POLICY.',
  examples: ["opsd cancel 9f3c2a77b1 --reason 'wrong label'", "opsd cancel 9f3c2a77b1 --reason 'wrong label' --yes"],
  async answer(call, findDaemon) {
    const reason = neededReason(call, 'why are you canceling the plan?');
    const daemon = await findDaemon();
    const [plan = ''] = call.positionals;
    await confirm(call, `Cancel plan ${printable(plan)}?`);
    const data = await request(daemon, 'POST /api/v1/cancel', { body: { plan, reason } }, 'plan');
    return { data, text: `Plan ${printable(data.plan.id)} is ${printable(data.plan.state)}.\n` };
  },
});
