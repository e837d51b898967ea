import { EXIT, textOption, UsageError, type Command } from '../command.ts';
import { request } from '../daemon-request.ts';
import { DAEMON_OPTIONS, findDaemon } from '../daemon-option.ts';
import { OUTPUT_OPTION, outputFormat, printable, writeData } from '../output.ts';

export const incidentsAcknowledgeCommand: Command = {
  name: 'incidents acknowledge',
  summary: 'Acknowledge an incident: others see who knows of it, and the note.',
  operands: { usage: 'ID', min: 1, max: 1, names: 'incident' },
  options: {
    note: { type: 'string', value: 'TEXT', help: 'Note for others, recorded in the audit log; required.' },
    ...DAEMON_OPTIONS,
    output: OUTPUT_OPTION,
  },
  details:
    'Changes nothing at the service. The incident is resolved when no dead letter is left, or when nothing new has\n' +
    'failed for a day. A later acknowledgment replaces the earlier one.',
  examples: [
    "opsd incidents acknowledge 3f2a91bc0d --note 'vendor called, ticket 4711'",
    "opsd incidents acknowledge 3f2a --note 'known, repaired tomorrow' -o json",
  ],
  async run(call) {
    const format = outputFormat(call.values);
    const note = textOption(call.values, 'note')?.trim() ?? '';
    if (note === '') throw new UsageError('--note is required: what should others know?');
    const daemon = await findDaemon(call);
    if (daemon === undefined) return EXIT.failed;
    const body = { incident: call.positionals[0]!, note };
    const data = await request(daemon, 'POST /api/v1/acknowledge', { body }, 'incident');
    if (format !== 'table') {
      await writeData(call.io, format, data);
      return EXIT.ok;
    }
    const { id, title } = data.incident;
    call.io.stdout.write(`Acknowledged incident ${printable(id)}: ${printable(title)}\n`);
    return EXIT.ok;
  },
};
