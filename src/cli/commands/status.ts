import { EXIT } from '../command.ts';
import { daemonCommand } from '../daemon-command.ts';
import type { DaemonCall } from '../daemon-exchange.ts';
import { request } from '../daemon-request.ts';
import { textStyle } from '../output.ts';
import { WATCH_OPTION } from '../watch.ts';

/** Actions and incidents that the screen shows. */
const ACTIONS = 5;
const INCIDENTS = 5;
const UNRESOLVED = ['open', 'recovering', 'acknowledged'];

export const statusCommand = daemonCommand({
  name: 'status',
  summary: 'Show what is wrong, what waits for you, and what policies do.',
  options: { watch: WATCH_OPTION },
  details:
    'The beginning of the status page, on the terminal. JSON and YAML are the response of GET /api/v1/status.\n' +
    'Exit code: 0 if all is well, 3 if there are problems or open incidents or the daemon is starting, 1 if it does not ' +
    'respond.',
  examples: ['opsd status --watch', 'opsd status -o json --url https://opsd.example.com:10777'],
  async answer(call, findDaemon) {
    const daemon = await findDaemon();
    const status = await request(daemon, 'GET /api/v1/status');
    const { level } = status.verdict;
    const query = { state: UNRESOLVED, limit: INCIDENTS };
    const { incidents, total } = await request(daemon, 'GET /api/v1/incidents', { query });
    const isFine = (level === 'ok' || level === 'info') && !incidents.some(({ state }) => state === 'open');
    const text = async (): Promise<string> => {
      const { statusText } = await import('./status-text.ts');
      const { sources } = await request(daemon, 'GET /api/v1/sources');
      const lists = status.storeError === undefined ? await storedLists(daemon) : NOT_READ;
      const moreIncidents = Math.max(0, total - incidents.length);
      const data = { ...status, sources, ...lists, incidents, moreIncidents };
      return statusText(data, { ...textStyle(call.io), command: daemon.command });
    };
    return { data: status, text, code: isFine ? EXIT.ok : EXIT.findings };
  },
});

const NOT_READ = { policies: [], plans: [], actions: [] };

async function storedLists(daemon: DaemonCall) {
  const { policies } = await request(daemon, 'GET /api/v1/policies');
  const { plans } = await request(daemon, 'GET /api/v1/plans', { query: { state: ['pending', 'approved'] } });
  const { actions } = await request(daemon, 'GET /api/v1/actions', { query: { limit: ACTIONS } });
  return { policies, plans, actions };
}
