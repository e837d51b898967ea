/** Asks every voice of a daemon at the same moment: API, metrics, commands and pages. */
import type { Json } from './rule.ts';
import { PLACES, POLICIES, TOKENS, type Place, type VoicesWorld } from './world.ts';

export interface Voices {
  readonly at: number;
  readonly status: Json;
  readonly policies: ReadonlyMap<string, Json>;
  readonly plans: readonly Json[];
  readonly planDetails: ReadonlyMap<string, Json>;
  readonly incidents: readonly Json[];
  readonly incidentDetails: ReadonlyMap<string, Json>;
  readonly conditions: readonly Json[];
  readonly deadLetters: Json;
  readonly actions: readonly Json[];
  /** Explanation of one failed run of each destination. */
  readonly explained: ReadonlyMap<Place, Json>;
  /** Response of `/metrics`. */
  readonly metrics: string;
  /** Text of a page without its markup, by path. */
  readonly pages: ReadonlyMap<string, string>;
  /** Output of `opsd status`. */
  readonly command: string;
  /** Failed runs in the service's own books, by destination. */
  readonly books: Readonly<Record<Place, number>>;
}

const AUTHORIZATION = `Bearer ${TOKENS.reader}`;
const PLAN_STATES = 'draft pending approved rejected applied cancelled replaced expired'.split(' ');
/** Maximum number of plans that are read whole. */
const MOST_PLANS = 12;

/** Returns the answers of one moment: time does not pass. */
export async function ask(world: VoicesWorld): Promise<Voices> {
  const [status, plans, incidents, conditions, deadLetters, actions, metrics, command] = await Promise.all([
    json(world, '/api/v1/status'),
    json(world, `/api/v1/plans?limit=100${PLAN_STATES.map((state) => `&state=${state}`).join('')}`),
    json(world, '/api/v1/incidents?limit=500'),
    json(world, '/api/v1/conditions'),
    json(world, '/api/v1/dead-letters?queue=workflow&limit=500'),
    json(world, '/api/v1/actions?limit=500'),
    text(world, '/metrics'),
    world.look(['status']),
  ]);
  const names = Object.keys(POLICIES);
  const planRows: Json[] = plans.plans;
  const incidentRows: Json[] = incidents.incidents;
  const open = incidentRows.filter(({ state }) => state !== 'resolved');
  const paths = [
    '/',
    '/policies',
    '/incidents',
    ...names.map((name) => `/policies/${name}`),
    ...open.map(({ id }) => `/incidents/${id}`),
    ...planRows.slice(0, MOST_PLANS).map(({ id }) => `/plans/${id}`),
  ];
  const books = world.emulator.workflowDlq('acc-1') as readonly Json[];
  return {
    at: status.at,
    status,
    policies: await each(names, (name) => json(world, `/api/v1/policies/${name}`)),
    plans: planRows,
    planDetails: await each(
      planRows.slice(0, MOST_PLANS).map(({ id }) => id as string),
      (id) => json(world, `/api/v1/plans/${id}`),
    ),
    incidents: incidentRows,
    incidentDetails: await each(
      open.map(({ id }) => id as string),
      (id) => json(world, `/api/v1/incidents/${id}`),
    ),
    conditions: conditions.conditions,
    deadLetters,
    actions: actions.actions,
    explained: await explained(world, deadLetters.deadLetters),
    metrics,
    pages: await each(paths, async (path) => withoutMarkup(await text(world, path))),
    command: command.out,
    books: Object.fromEntries(
      PLACES.map((place) => [place, books.filter(({ labels }) => labels.includes(place)).length]),
    ) as Record<Place, number>,
  };
}

/** The oldest failed run of each destination stays the longest. */
async function explained(world: VoicesWorld, rows: readonly Json[]): Promise<Map<Place, Json>> {
  const found = new Map<Place, Json>();
  for (const place of PLACES) {
    const row = rows.findLast(({ labels }) => labels.includes(place));
    if (row !== undefined) found.set(place, await post(world, '/api/v1/explain', { id: row.id }));
  }
  return found;
}

async function each<T>(keys: readonly string[], read: (key: string) => Promise<T>): Promise<Map<string, T>> {
  const values = await Promise.all(keys.map((key) => read(key)));
  return new Map(keys.map((key, place) => [key, values[place]!]));
}

async function text({ url }: VoicesWorld, path: string): Promise<string> {
  const response = await fetch(`${url}${path}`, { headers: { authorization: AUTHORIZATION } });
  const body = await response.text();
  if (!response.ok) throw new Error(`${path} is ${response.status}: ${body}`);
  return body;
}

async function json(world: VoicesWorld, path: string): Promise<Json> {
  return JSON.parse(await text(world, path));
}

async function post({ url }: VoicesWorld, path: string, body: object): Promise<Json> {
  const headers = { 'content-type': 'application/json', authorization: AUTHORIZATION };
  const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${path} is ${response.status}: ${answer}`);
  return JSON.parse(answer);
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
