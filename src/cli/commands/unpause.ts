import { EXIT, textOption, UsageError, valueOption, type Call } from '../command.ts';
import { confirm, neededReason, REASON_OPTION, YES_OPTION } from '../confirm.ts';
import type { Pause } from '#automate/ledger/pauses.ts';
import type { AnswerOf } from '#operate/contract/route.ts';
import type { unpauseEngine } from '#operate/contract/control.ts';
import { daemonCommand } from '../daemon-command.ts';
import { request } from '../daemon-request.ts';
import { printable } from '../output.ts';

export const unpauseCommand = daemonCommand({
  name: 'unpause',
  summary: 'Lift pauses, and the halts of groups.',
  options: {
    policy: valueOption('NAME', 'Only this policy; default: every pause.', { names: 'policy' }),
    group: valueOption('GROUP', 'Only this halted group of the policy.'),
    reason: REASON_OPTION,
    yes: YES_OPTION,
  },
  details:
    'Without a policy, lifts every pause. With a policy, lifts its own pause, and its halted groups restart with one entry. ' +
    'The daemon pauses itself if the service acts on more than requested, or if a run’s results do not add up: check ' +
    'the status page first. A kill switch file pauses until it is removed: the command then names the file and exits ' +
    'with 3, as it does if a policy is still paused with the whole engine. A group may have the form of an alert’s label.',
  examples: [
    "opsd unpause --reason 'checkout is repaired'",
    "opsd unpause --policy resume-billing --reason 'checkout is repaired'",
  ],
  async answer(call, findDaemon) {
    const reason = neededReason(call, 'why may it act again?');
    const policy = textOption(call.values, 'policy');
    const group = textOption(call.values, 'group');
    if (group !== undefined && policy === undefined)
      throw new UsageError('--group requires --policy, the policy of the group');
    const daemon = await findDaemon();
    const body = { reason, policy, group };
    say(call, body, (await request(daemon, 'GET /api/v1/conditions', {}, 'pauses')).pauses);
    await confirm(call, 'Resume actions?');
    const data = await request(daemon, 'POST /api/v1/unpause', { body }, 'lifted');
    return { data, text: liftedText(data), code: data.stillPaused === undefined ? EXIT.ok : EXIT.held };
  },
});

function say(
  { io }: Call,
  of: { policy?: string | undefined; group?: string | undefined },
  pauses: readonly Pause[],
): void {
  const scope = of.policy === undefined ? undefined : `policy/${of.policy}`;
  const meant = of.group === undefined ? pauses.filter((pause) => scope === undefined || pause.scope === scope) : [];
  for (const { scope: paused, reason, at, by } of meant) {
    const since = new Date(at).toISOString().slice(0, 16);
    io.stderr.write(`${printable(paused)} has been paused since ${since}Z by ${printable(by)}: ${printable(reason)}\n`);
  }
  if (of.policy === undefined) return;
  const groups = of.group === undefined ? 'every halted group' : `the group ${printable(of.group)}`;
  io.stderr.write(`${groups} of ${printable(of.policy)} restarts with one entry\n`);
}

function liftedText({ lifted, stillPaused }: AnswerOf<typeof unpauseEngine>): string {
  const still = stillPaused === undefined ? '' : `Still paused: ${printable(stillPaused)}\n`;
  if (lifted === 0) return `No pause or halt to lift.\n${still}`;
  return `Lifted ${lifted} ${lifted === 1 ? 'pause or halt' : 'pauses and halts'}.\n${still}`;
}
