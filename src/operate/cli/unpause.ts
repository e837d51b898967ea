import { EXIT, textOption, UsageError, type Call, type Command } from './command.ts';
import { confirm, neededReason, REASON_OPTION, YES_OPTION } from './confirm.ts';
import type { ActivePause } from './daemon-client.ts';
import { DAEMON_OPTIONS, findDaemon } from './daemon-option.ts';
import { OUTPUT_OPTION, outputFormat, printable, writeData } from './output.ts';

export const unpauseCommand: Command = {
  name: 'unpause',
  summary: 'Lift pauses, and the halts of groups.',
  options: {
    policy: { type: 'string', value: 'NAME', help: 'This policy alone; default: every pause.' },
    group: { type: 'string', value: 'GROUP', help: 'This halted group of the policy alone.' },
    reason: REASON_OPTION,
    yes: YES_OPTION,
    ...DAEMON_OPTIONS,
    output: OUTPUT_OPTION,
  },
  details:
    'Without a policy every pause is lifted; with one its own, and its groups that halted begin again with one entry.\n' +
    'The daemon pauses itself when the service does other than it was asked, or when the outcomes of a run do not match its plan: look at\n' +
    'the status page first. A kill switch file is lifted by removing it, not by this.',
  async run(call) {
    const format = outputFormat(call.values);
    const reason = neededReason(call, 'why may it act again?');
    const policy = textOption(call.values, 'policy');
    const group = textOption(call.values, 'group');
    if (group !== undefined && policy === undefined) throw new UsageError('--group needs the --policy that it is of');
    const daemon = await findDaemon(call);
    if (daemon === undefined) return EXIT.failed;
    const { requestPauses, requestUnpause } = await import('./daemon-client.ts');
    const what = { reason, ...(policy !== undefined && { policy }), ...(group !== undefined && { group }) };
    say(call, what, await requestPauses(daemon));
    await confirm(call, 'May it act again?');
    const lifted = await requestUnpause(what, daemon);
    if (format === 'table') call.io.stdout.write(liftedText(lifted));
    else await writeData(call.io, format, { lifted });
    return EXIT.ok;
  },
};

function say({ io }: Call, of: { policy?: string; group?: string }, pauses: readonly ActivePause[]): void {
  const scope = of.policy === undefined ? undefined : `policy/${of.policy}`;
  const meant = of.group === undefined ? pauses.filter((pause) => scope === undefined || pause.scope === scope) : [];
  for (const { scope: paused, reason, at, by } of meant) {
    const since = new Date(at).toISOString().slice(0, 16);
    io.stderr.write(`${printable(paused)} is paused since ${since}Z by ${printable(by)}: ${printable(reason)}\n`);
  }
  if (of.policy === undefined) return;
  const groups = of.group === undefined ? 'every halted group' : `the group ${printable(of.group)}`;
  io.stderr.write(`${groups} of ${printable(of.policy)} begins again with one entry\n`);
}

function liftedText(lifted: number): string {
  if (lifted === 0) return 'Nothing was paused or halted.\n';
  return `Lifted ${lifted} ${lifted === 1 ? 'pause or halt' : 'pauses and halts'}.\n`;
}
