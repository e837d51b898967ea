import { EXIT, textOption, type Command } from '../command.ts';
import { request } from '../daemon-request.ts';
import { DAEMON_OPTIONS, findDaemon } from '../daemon-option.ts';
import { ACCOUNT_OPTION } from '../list-options.ts';
import { sheetText } from '#operate/show/text.ts';
import { OUTPUT_OPTION, outputFormat, textStyle, writeData } from '../output.ts';

export const dlqShowCommand: Command = {
  name: 'dlq show',
  summary: 'Show one dead letter: its failure, its expiry, and the actions on it.',
  operands: { usage: 'ID', min: 1, max: 1 },
  options: {
    account: { ...ACCOUNT_OPTION, help: 'Account, if several have this id.' },
    body: { type: 'boolean', help: 'Also body and headers, without credentials. Needs the role operator.' },
    ...DAEMON_OPTIONS,
    output: OUTPUT_OPTION,
  },
  details: '--body sends one request to the service. opsd explain ID has the verdict of each policy.',
  examples: ['opsd dlq show dlq-8812', 'opsd dlq show dlq-8812 --body -o json'],
  async run(call) {
    const format = outputFormat(call.values);
    const daemon = await findDaemon(call, { writes: false, collectors: ['workflowDlq'] });
    if (daemon === undefined) return EXIT.failed;
    const account = textOption(call.values, 'account');
    const query = { account, body: call.values['body'] === true ? 'true' : undefined };
    const data = await request(daemon, 'GET /api/v1/dead-letters/{id}', { id: call.positionals[0]!, query });
    if (format === 'table') {
      const { deadLetterSheet } = await import('#operate/show/dead-letter.ts');
      const title = `Dead letter ${data.deadLetter.id}`;
      call.io.stdout.write(sheetText(title, deadLetterSheet(data), textStyle(call.io)));
    } else await writeData(call.io, format, data);
    return EXIT.ok;
  },
};
