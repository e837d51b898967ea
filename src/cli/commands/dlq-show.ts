import { textOption } from '../command.ts';
import { daemonCommand } from '../daemon-command.ts';
import { request } from '../daemon-request.ts';
import { ACCOUNT_OPTION } from '../list-options.ts';
import { sheetText } from '#operate/show/text.ts';
import { textStyle } from '../output.ts';

export const dlqShowCommand = daemonCommand({
  name: 'dlq show',
  summary: 'Show one dead letter: its failure, its expiry, and the actions on it.',
  operands: { usage: 'ID', min: 1, max: 1 },
  options: {
    account: { ...ACCOUNT_OPTION, help: 'Account, if several have this id.' },
    body: { type: 'boolean', help: 'Also body and headers, without credentials. Needs the role operator.' },
  },
  needs: { writes: false, collectors: ['workflowDlq'] },
  details:
    'The body of a run needs one request to the service; that of a message is in the store if the account keeps bodies. opsd explain ID has the verdict of each policy.',
  examples: ['opsd dlq show dlq-8812', 'opsd dlq show dlq-8812 --body -o json'],
  async answer(call, findDaemon) {
    const account = textOption(call.values, 'account');
    const query = { account, body: call.values['body'] === true ? 'true' : undefined };
    const asked = { id: call.positionals[0]!, query };
    const data = await request(await findDaemon(), 'GET /api/v1/dead-letters/{id}', asked);
    const { deadLetterSheet } = await import('#operate/show/dead-letter.ts');
    return {
      data,
      text: () => sheetText(`Dead letter ${data.deadLetter.id}`, deadLetterSheet(data), textStyle(call.io)),
    };
  },
});
