/**
 * Rules for a policy's requests, checked only on the requests that a server received. The code is independent of the
 * client and the actions. Most forbidden requests are irreversible.
 */

export interface WireRequest {
  readonly method: string;
  /** Path and query as received. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer | string;
}

export interface WireFacts {
  /** Epoch milliseconds of the daemon's clock at the request. */
  readonly now: number;
  /** Known budget at the request. If absent, no budget may be sent. */
  readonly knownBudgetUsd?: number;
}

const HOUR_MS = 3_600_000;
const PRUNE_FILTERS = new Set([
  'toDate',
  'count',
  'fromDate',
  'url',
  'topicName',
  'scheduleId',
  'queueName',
  'label',
  'flowControlKey',
  'callerIp',
  'responseStatus',
]);

/** Returns the rules that a request violates, one line each; none for a read. */
export function brokenRules(request: WireRequest, facts: WireFacts): string[] {
  if (request.method === 'GET') return [];
  const cut = request.url.indexOf('?');
  const path = cut < 0 ? request.url : request.url.slice(0, cut);
  const query = parameters(cut < 0 ? '' : request.url.slice(cut + 1));
  const about = `${request.method} ${path}`;
  const broken = rulesOf(request, path, query, facts);
  return broken.map((rule) => `${about}: ${rule}`);
}

type Parameters = readonly (readonly [name: string, value: string])[];

function rulesOf(
  { method, headers = {}, body }: WireRequest,
  path: string,
  query: Parameters,
  facts: WireFacts,
): string[] {
  if (method === 'POST' && path === '/v2/workflows/dlq/resume') return onlyOneId(query);
  if (method === 'DELETE' && path === '/v2/workflows/dlq') return onlyOneId(query);
  if (method === 'DELETE' && path === '/v2/dlq') {
    return query.some(([name]) => name === 'dlqIds') ? onlyOneId(query) : boundedPrune(query, facts);
  }
  if (method === 'POST' && /^\/v2\/publish\/https?:\/\/./.test(path)) {
    return /^opsd-[0-9a-f]{40}$/.test(String(headers['svc-deduplication-id'])) ? [] : ['a publish without its own id'];
  }
  if (method === 'PATCH' && /^\/v2\/msgsvc\/update-budget\/[^/]+$/.test(path)) return raise(body, query, facts);
  return ['no policy sends this'];
}

function onlyOneId(query: Parameters): string[] {
  const ids = query.filter(([name]) => name === 'dlqIds').map(([, value]) => value);
  const others = query.filter(([name]) => name !== 'dlqIds');
  return [
    ...(ids.length === 1 ? [] : [`${ids.length} dlqIds instead of one`]),
    ...(ids.some((id) => id.trim() === '') ? ['an empty dlqId, which may be read as none'] : []),
    ...(ids.some((id) => id.includes(',')) ? ['a comma in a dlqId, which may be read as two'] : []),
    ...others.map(([name]) => `${name} beside dlqIds`),
  ];
}

function boundedPrune(query: Parameters, { now }: WireFacts): string[] {
  const one = (name: string): number => {
    const values = query.filter(([given]) => given === name);
    return values.length === 1 && /^\d+$/.test(values[0]![1]) ? Number(values[0]![1]) : Number.NaN;
  };
  const [toDate, count] = [one('toDate'), one('count')];
  return [
    ...(toDate <= now - HOUR_MS ? [] : ['no toDate of at least an hour ago']),
    ...(count >= 1 && count <= 100 ? [] : ['no count from 1 to 100']),
    ...query.filter(([name]) => !PRUNE_FILTERS.has(name)).map(([name]) => `an unknown filter ${name}`),
    ...query.filter(([, value]) => value.trim() === '').map(([name]) => `an empty filter ${name}`),
  ];
}

function raise(body: Buffer | string, query: Parameters, { knownBudgetUsd }: WireFacts): string[] {
  if (query.length > 0) return ['a query beside the budget'];
  let sent: unknown;
  try {
    sent = JSON.parse(body.toString());
  } catch {
    return ['a budget that is not JSON'];
  }
  const members = typeof sent === 'object' && sent !== null ? Object.entries(sent) : [];
  const [[name, budget] = [], ...more] = members;
  if (name !== 'budget' || more.length > 0) return ['something else than a budget'];
  if (typeof budget !== 'number' || !Number.isInteger(budget) || budget < 20 || budget > 10_000) {
    return ['a budget outside 20 to 10000 whole dollars'];
  }
  if (knownBudgetUsd === undefined) return ['a budget while none is known'];
  return budget > knownBudgetUsd ? [] : ['a budget at or below the known one'];
}

/** Parsed manually, because a lenient parser would hide malformed input. */
function parameters(query: string): Parameters {
  if (query === '') return [];
  return query.split('&').map((part) => {
    const cut = part.indexOf('=');
    return cut < 0
      ? [decodeURIComponent(part), '']
      : [decodeURIComponent(part.slice(0, cut)), decodeURIComponent(part.slice(cut + 1))];
  });
}
