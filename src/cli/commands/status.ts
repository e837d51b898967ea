import { EXIT, type Command } from '../command.ts';
import { exchange, pathWith, type DaemonCall } from '../daemon-exchange.ts';
import { DAEMON_OPTIONS, findDaemon } from '../daemon-option.ts';
import { dataText, OUTPUT_OPTION, outputFormat, textStyle } from '../output.ts';
import { showOrWatch, WATCH_OPTION } from '../watch.ts';
import type { ScreenData } from './status-text.ts';

/** Actions and incidents that the screen shows. */
const ACTIONS = 5;
const INCIDENTS = 5;
const LISTS_IN_MEMORY = ['sources'];
const LISTS = [...LISTS_IN_MEMORY, 'policies', 'plans?state=pending&state=approved', `actions?limit=${ACTIONS}`];
const UNRESOLVED = ['open', 'recovering', 'acknowledged'];

export const statusCommand: Command = {
  name: 'status',
  summary: 'Show the state of the daemon: problems, incidents, pending plans, pauses, and what the policies do.',
  options: { watch: WATCH_OPTION, ...DAEMON_OPTIONS, output: OUTPUT_OPTION },
  details:
    'The beginning of the status page, on the terminal. JSON and YAML are the response of GET /api/v1/status.\n' +
    'Exit code: 0 if all is well, 3 if there are problems or open incidents or the daemon is starting, 1 if it does not\n' +
    'respond.',
  examples: ['opsd status --watch', 'opsd status -o json --url https://opsd.example.com:10777'],
  async run(call) {
    const format = outputFormat(call.values);
    const daemon = await findDaemon(call);
    if (daemon === undefined) return EXIT.failed;
    const { statusText } = await import('./status-text.ts');
    return showOrWatch(call, async () => {
      const status = await read(daemon, 'status');
      const { level } = (status as unknown as ScreenData).verdict;
      const unresolved = await read(daemon, pathWith('incidents', { state: UNRESOLVED, limit: INCIDENTS }));
      const { incidents, total } = unresolved as { incidents: ScreenData['incidents']; total: number };
      const isFine = (level === 'ok' || level === 'info') && !incidents.some(({ state }) => state === 'open');
      const code = isFine ? EXIT.ok : EXIT.findings;
      if (format !== 'table') return { text: await dataText(format, status), code };
      const lists: object[] = [{ policies: [], plans: [], actions: [] }];
      for (const list of status['storeError'] === undefined ? LISTS : LISTS_IN_MEMORY) {
        lists.push(await read(daemon, list));
      }
      const more = Math.max(0, total - incidents.length);
      const data = Object.assign({}, status, ...lists, { incidents, moreIncidents: more }) as unknown as ScreenData;
      return { text: statusText(data, { ...textStyle(call.io), command: daemon.command }), code };
    });
  },
};

function read(daemon: DaemonCall, path: string): Promise<Readonly<Record<string, unknown>>> {
  return exchange(daemon, { method: 'GET', path: `/api/v1/${path}` });
}
