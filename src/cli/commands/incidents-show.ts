import { sheetText } from '#operate/show/text.ts';
import { EXIT, type Command } from '../command.ts';
import { request } from '../daemon-request.ts';
import { DAEMON_OPTIONS, findDaemon } from '../daemon-option.ts';
import { dataText, OUTPUT_OPTION, outputFormat, textStyle } from '../output.ts';
import { showOrWatch, WATCH_OPTION } from '../watch.ts';

export const incidentsShowCommand: Command = {
  name: 'incidents show',
  summary: 'Show one incident: what fails, since when, how much, what expires first, and the next step.',
  operands: { usage: 'ID', min: 1, max: 1, names: 'incident' },
  options: { watch: WATCH_OPTION, ...DAEMON_OPTIONS, output: OUTPUT_OPTION },
  details:
    'ID can be a prefix of at least four characters. With --watch the repair can be followed.\n' +
    'opsd dlq list --incident ID lists its dead letters.',
  examples: ['opsd incidents show 3f2a91bc0d', 'opsd incidents show 3f2a --watch'],
  async run(call) {
    const format = outputFormat(call.values);
    const daemon = await findDaemon(call, { writes: false, collectors: ['workflowDlq'] });
    if (daemon === undefined) return EXIT.failed;
    const { incidentSheet } = await import('#operate/show/incident.ts');
    return showOrWatch(call, async () => {
      const data = await request(daemon, 'GET /api/v1/incidents/{id}', { id: call.positionals[0]! });
      if (format !== 'table') return { text: await dataText(format, data) };
      const { incident, at } = data;
      const content = incidentSheet(incident, at, daemon.command);
      return { text: sheetText(incident.title, content, textStyle(call.io)) };
    });
  },
};
