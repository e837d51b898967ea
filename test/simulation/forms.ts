/** Forms of the daemon's writes: how the request of each action looks, and which intent it belongs to. */
import type { Sent } from './service.ts';
import { Violation } from './violation.ts';

/** An intent of the ledger, with its last outcome. */
export interface Act {
  readonly id: number;
  readonly policy: string;
  readonly action: string;
  readonly target: string;
  readonly at: number;
  readonly active: number;
  readonly items: number;
  readonly lineage: string | null;
  readonly attempt: number | null;
  readonly outcome: string | null;
}

/** Reads an intent of the ledger. */
export function actOf(row: Readonly<Record<string, unknown>>): Act {
  const { attempt = null } = JSON.parse(String(row['proposal'])) as { readonly attempt?: number };
  const { proposal: _proposal, ...act } = row;
  return { ...act, at: Number(row['at']), active: Number(row['active']), attempt } as Act;
}

export type Request = Pick<Sent, 'method' | 'path' | 'headers'>;

export interface Form {
  readonly action: string;
  readonly isOf: (request: Request) => boolean;
  /** Targets of the request; empty if they are unknown. */
  readonly keysOf: (request: Request) => readonly string[];
  readonly keyOfAct: (act: Act) => string;
  /** Maximum requests of one intent. */
  readonly requests: number;
  /** True if several intents have the same key: their requests can only be counted. */
  readonly isShared?: true;
}

const urlOf = ({ path }: Request): URL => new URL(path, 'http://service');
const idsOf = (request: Request): readonly string[] =>
  urlOf(request)
    .searchParams.getAll('dlqIds')
    .flatMap((ids) => ids.split(','));
const isTo = (method: string, path: string) => (request: Request) =>
  request.method === method && urlOf(request).pathname === path;
const targetOf = ({ target }: Act): string => target;

/** Lineage and attempt of the stamp among the labels. */
export function stampOf(labels: readonly string[]): string | undefined {
  const stamp = labels.find((label) => label.startsWith('opsd:'));
  return stamp?.split(':').slice(2).join(':');
}

const FORMS: readonly Form[] = [
  {
    action: 'workflow-dlq.resume',
    isOf: isTo('POST', '/v2/workflows/dlq/resume'),
    keysOf: idsOf,
    keyOfAct: targetOf,
    requests: 1,
  },
  {
    action: 'workflow-dlq.delete',
    isOf: isTo('DELETE', '/v2/workflows/dlq'),
    keysOf: idsOf,
    keyOfAct: targetOf,
    requests: 1,
  },
  {
    action: 'message-dlq.delete',
    isOf: (request) => isTo('DELETE', '/v2/dlq')(request) && idsOf(request).length > 0,
    keysOf: idsOf,
    keyOfAct: targetOf,
    // Repeated after an unknown outcome: it has no further effect.
    requests: Infinity,
  },
  {
    action: 'message-dlq.prune',
    isOf: isTo('DELETE', '/v2/dlq'),
    keysOf: () => ['page'],
    keyOfAct: () => 'page',
    requests: 1,
    isShared: true,
  },
  {
    action: 'message-dlq.republish',
    isOf: ({ method, path }) => method === 'POST' && path.startsWith('/v2/publish/'),
    keysOf: ({ headers }) => {
      const labels = headers['svc-label'];
      return [stampOf(typeof labels === 'string' ? labels.split(',') : [])].flatMap((key) => key ?? []);
    },
    keyOfAct: ({ lineage, attempt }) => `${lineage}:${attempt}`,
    // Repeated under its deduplication id.
    requests: Infinity,
  },
  {
    action: 'budget.raise',
    isOf: ({ method, path }) => method === 'PATCH' && path.startsWith('/v2/msgsvc/update-budget/'),
    keysOf: () => ['amount'],
    keyOfAct: () => 'amount',
    // Sent again every five minutes of an hour, while the outcome is unknown.
    requests: 12,
    isShared: true,
  },
];

/** Returns true if the request sends a message of a canary. */
export function isOfCanary({ method, path, headers }: Request): boolean {
  const isSent = method === 'POST' && /^\/v2\/(?:publish|enqueue|trigger)\//.test(path);
  return isSent && String(headers['svc-label']).split(',').includes('opsd-canary');
}

/** @throws {Violation} if no policy, no canary and no operator may cause the request */
export function formOf(request: Request): Form | 'of no policy' {
  if (isOfCanary(request)) return 'of no policy';
  const form = FORMS.find(({ isOf }) => isOf(request));
  if (form !== undefined) return form;
  const { method, path } = request;
  if (method === 'POST' && path.startsWith('/v2/msgsvc/rotate-token/')) return 'of no policy';
  throw new Violation('the daemon sends only what its policies may', `${method} ${path}`);
}

/** Reads the head of a request. */
export function requestOf(head: string): Request {
  const [line = '', ...rest] = head.split('\r\n\r\n', 1)[0]!.split('\r\n');
  const [method = '', path = ''] = line.split(' ');
  const headers = Object.fromEntries(
    rest.map((header) => {
      const colon = header.indexOf(':');
      return [header.slice(0, colon).toLowerCase(), header.slice(colon + 1).trim()];
    }),
  );
  return { method, path, headers };
}
