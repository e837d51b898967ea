import { formatSize } from '#foundation/domain/size.ts';
import { bytesOf, CommandError, textOption, valueOption, type Call } from '../command.ts';
import { CONFIRM_OPTION, neededReason, REASON_OPTION } from '../confirm.ts';
import { daemonCommand } from '../daemon-command.ts';
import { request } from '../daemon-request.ts';
import { ACCOUNT_OPTION } from '../list-options.ts';
import { printable } from '../output.ts';

export const dlqRetriggerCommand = daemonCommand({
  name: 'dlq retrigger',
  summary: 'Start a new run with the body of a failed one, or with another body.',
  operands: { usage: 'ID', min: 1, max: 1 },
  options: {
    body: valueOption('FILE', 'Body of the new run: a file, or - for stdin. Default: that of the failed run.'),
    reason: { ...REASON_OPTION, help: 'Reason, recorded in the audit log; required.' },
    account: { ...ACCOUNT_OPTION, help: 'Account, if several have this id.' },
    confirm: { ...CONFIRM_OPTION, value: 'ID', help: 'Confirm with the id, for use without a terminal.' },
  },
  needs: { writes: true, collectors: ['workflowDlq'] },
  details:
    'All steps run again, also those that had finished; opsd dlq resume continues a run instead. The failed run stays in ' +
    'the DLQ: opsd dlq show ID has the state of the new run. Policies leave it alone; opsd dlq delete ID deletes it.\n' +
    'Without --body, the log must show that the failed message is the first one of its run. Labels, retries, forwarded ' +
    'headers, failure callback and flow control are those of the failed run. Requires the role admin, and the typed id.',
  examples: [
    "opsd dlq retrigger dlq-8812 --body fixed.json --reason 'the amount was wrong'",
    "opsd dlq retrigger dlq-8812 --reason 'new workflow' --confirm dlq-8812",
  ],
  async answer(call, findDaemon) {
    const id = call.positionals[0]!;
    const account = textOption(call.values, 'account');
    const reason = neededReason(call, 'why is the run started again?');
    const file = textOption(call.values, 'body');
    const bytes = file === undefined ? undefined : await bytesOf(call, file);
    const daemon = await findDaemon();
    const asked = { id, query: { account } };
    const { deadLetter } = await request(daemon, 'GET /api/v1/dead-letters/{id}', asked, 'deadLetter');
    const { workflowUrl = 'no workflow', workflowRunId = 'unknown' } = deadLetter;
    call.io.stderr.write(
      `Starts a new run of ${printable(workflowUrl)}, in place of the failed run ${printable(workflowRunId)}.\n` +
        `All steps run again, also those that had finished.\n` +
        `Body: ${bytes === undefined ? 'that of the failed run' : `${printable(file!)}, ${formatSize(bytes.length)}`}\n`,
    );
    const confirm = textOption(call.values, 'confirm') ?? (await typedId(call));
    const body = { id, account, reason, confirm, body: bytes?.toString('base64') };
    const data = await request(daemon, 'POST /api/v1/retrigger', { body }, 'retrigger');
    const { workflowRunId: newRun, text } = data.retrigger;
    return { data, text: `Started run ${printable(newRun)}. ${printable(text)}\n` };
  },
});

async function typedId({ io }: Call): Promise<string> {
  if (io.ask === undefined) throw new CommandError('confirmation needs a terminal; nothing was done. Use --confirm ID');
  const typed = (await io.ask('Type the id to confirm: ')).trim();
  if (typed === '') throw new CommandError('not confirmed; nothing was done');
  return typed;
}
