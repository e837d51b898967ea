import { textOption, UsageError, valueOption } from '../command.ts';
import { daemonCommand } from '../daemon-command.ts';
import { request } from '../daemon-request.ts';
import { printable } from '../output.ts';

export const incidentsAcknowledgeCommand = daemonCommand({
  name: 'incidents acknowledge',
  summary: 'Acknowledge an incident: others see who knows of it, and the note.',
  operands: { usage: 'ID', min: 1, max: 1, names: 'incident' },
  options: {
    note: valueOption('TEXT', 'Note for others, recorded in the audit log; required.'),
  },
  details:
    'Changes nothing at the service. The incident is resolved when no dead letter is left, or when nothing new has\n' +
    'failed for a day. A later acknowledgment replaces the earlier one.',
  examples: [
    "opsd incidents acknowledge 3f2a91bc0d --note 'vendor called, ticket 4711'",
    "opsd incidents acknowledge 3f2a --note 'known, repaired tomorrow' -o json",
  ],
  async answer(call, findDaemon) {
    const note = textOption(call.values, 'note')?.trim() ?? '';
    if (note === '') throw new UsageError('--note is required: what should others know?');
    const body = { incident: call.positionals[0]!, note };
    const data = await request(await findDaemon(), 'POST /api/v1/acknowledge', { body }, 'incident');
    const { id, title } = data.incident;
    return { data, text: `Acknowledged incident ${printable(id)}: ${printable(title)}\n` };
  },
});
