import { sheetText } from '#operate/show/text.ts';
import { daemonCommand } from '../daemon-command.ts';
import { request } from '../daemon-request.ts';
import { textStyle } from '../output.ts';
import { WATCH_OPTION } from '../watch.ts';

export const incidentsShowCommand = daemonCommand({
  name: 'incidents show',
  summary: 'Show one incident: what fails, since when, how much, what expires first, and the next step.',
  operands: { usage: 'ID', min: 1, max: 1, names: 'incident' },
  options: { watch: WATCH_OPTION },
  needs: { writes: false, collectors: ['workflowDlq'] },
  details:
    'ID can be a prefix of at least four characters. With --watch the repair can be followed.\n' +
    'opsd dlq list --incident ID lists its dead letters.',
  examples: ['opsd incidents show 3f2a91bc0d', 'opsd incidents show 3f2a --watch'],
  async answer(call, findDaemon) {
    const daemon = await findDaemon();
    const { incidentSheet } = await import('#operate/show/incident.ts');
    const data = await request(daemon, 'GET /api/v1/incidents/{id}', { id: call.positionals[0]! });
    const { incident, at } = data;
    const content = () => incidentSheet(incident, at, daemon.command);
    return { data, text: () => sheetText(incident.title, content(), textStyle(call.io)) };
  },
});
