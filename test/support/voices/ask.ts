/** Asks every voice of a daemon at the same moment: API, metrics, commands and pages. */
import type { Json } from './rule.ts';
import { PLACES, POLICIES, TOKENS, type Place, type VoicesWorld } from './world.ts';

export type Voices = Awaited<ReturnType<typeof ask>>;

const AUTHORIZATION = `Bearer ${TOKENS.reader}`;
const PLAN_STATES = 'draft pending approved rejected applied cancelled replaced expired'.split(' ');
/** Maximum number of plans that are read whole. */
const MOST_PLANS = 12;

/** Returns the answers of one moment: time does not pass. */
export async function ask(world: VoicesWorld) {
  const json = async (path: string, body?: object): Promise<Json> => JSON.parse(await text(world, path, body));
  const [status, plans, incidents, { conditions }, deadLetters, { actions }, metrics, command] = await Promise.all([
    json('/api/v1/status'),
    json(`/api/v1/plans?limit=100${PLAN_STATES.map((state) => `&state=${state}`).join('')}`),
    json('/api/v1/incidents?limit=500'),
    json('/api/v1/conditions'),
    json('/api/v1/dead-letters?queue=workflow&limit=500'),
    json('/api/v1/actions?limit=500'),
    text(world, '/metrics'),
    world.look(['status']),
  ]);
  const idOf = ({ id }: Json): string => id;
  const names = Object.keys(POLICIES);
  const planRows: readonly Json[] = plans.plans;
  const incidentRows: readonly Json[] = incidents.incidents;
  const read = planRows.slice(0, MOST_PLANS).map(idOf);
  const open = incidentRows.filter(({ state }) => state !== 'resolved').map(idOf);
  const paths = [
    '/',
    '/policies',
    '/incidents',
    ...names.map((name) => `/policies/${name}`),
    ...open.map((id) => `/incidents/${id}`),
    ...read.map((id) => `/plans/${id}`),
  ];
  // The oldest failed run of each destination stays the longest.
  const oldest = PLACES.flatMap((place) => {
    const row = deadLetters.deadLetters.findLast(({ labels }: Json) => labels.includes(place));
    return row === undefined ? [] : [[place, row.id] as const];
  });
  const books = world.emulator.workflowDlq('acc-1') as readonly Json[];
  const inBooks = (place: Place): number => books.filter(({ labels }) => labels.includes(place)).length;
  return {
    status,
    policies: await each(names, (name) => json(`/api/v1/policies/${name}`)),
    plans: planRows,
    planDetails: await each(read, (id) => json(`/api/v1/plans/${id}`)),
    incidents: incidentRows,
    incidentDetails: await each(open, (id) => json(`/api/v1/incidents/${id}`)),
    conditions: conditions as readonly Json[],
    deadLetters,
    actions: actions as readonly Json[],
    /** Explanation of one failed run of each destination. */
    explained: new Map<Place, Json>(
      await Promise.all(oldest.map(async ([place, id]) => [place, await json('/api/v1/explain', { id })] as const)),
    ),
    /** Response of `/metrics`. */
    metrics,
    /** Text of a page without its markup, by path. */
    pages: await each(paths, async (path) => withoutMarkup(await text(world, path))),
    /** Output of `opsd status`. */
    command: command.out,
    /** Failed runs in the service's own books, by destination. */
    books: Object.fromEntries(PLACES.map((place) => [place, inBooks(place)])) as Readonly<Record<Place, number>>,
  };
}

async function each<T>(keys: readonly string[], read: (key: string) => Promise<T>): Promise<Map<string, T>> {
  const values = await Promise.all(keys.map((key) => read(key)));
  return new Map(keys.map((key, place) => [key, values[place]!]));
}

/** Returns the response of a path. @param body content of a POST */
async function text({ url }: VoicesWorld, path: string, body?: object): Promise<string> {
  const headers = { 'content-type': 'application/json', authorization: AUTHORIZATION };
  const post = body && { method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(`${url}${path}`, { ...post, headers });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${path} is ${response.status}: ${answer}`);
  return answer;
}

function withoutMarkup(html: string): string {
  return html
    .replaceAll(/<(style|script|title)\b[\s\S]*?<\/\1>/g, '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ');
}
