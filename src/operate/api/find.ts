/**
 * Search over everything that the daemon knows: ids, hosts, URLs, labels, statuses and names. It reads the memory and at
 * most two rows of the store by their keys, and sends no request.
 */
import type { Incident } from '#foundation/domain/incident.ts';
import { STATUS_FORM, statusFilter, urlFilter } from '#foundation/domain/typed-filters.ts';
import type { ActionRecord } from '#automate/ledger/intents.ts';
import { searchDeadLetters } from '../contract/dead-letters.ts';
import { readQuery } from '../http/query.ts';
import type { ApiContext } from './api-deps.ts';
import { findDeadLetters, pageOfDeadLetters } from './dead-letter-query.ts';
import { fromLedger } from './from-store.ts';

/** Kinds of texts that the search understands, in the words of the page. */
export const UNDERSTOOD = [
  'the id of a message, a workflow run, a dead letter, an incident, a plan or an action',
  'a host or the beginning of a URL',
  'a label',
  'a status: 503, or 5xx',
  'the name of a policy or a canary',
] as const;

/** Thing that a text leads to, or a list of things. */
export type Hit =
  | { readonly kind: 'incident' | 'plan' | 'policy' | 'canary'; readonly id: string }
  | { readonly kind: 'dead letter'; readonly id: string; readonly account: string }
  | { readonly kind: 'message'; readonly id: string; readonly account?: string }
  | { readonly kind: 'action'; readonly action: ActionRecord }
  | { readonly kind: 'dead letters' | 'failures'; readonly filter: Filter; readonly count: number };

interface Filter {
  readonly name: 'url' | 'label' | 'responseStatus';
  readonly value: string;
}

/** Maximum length of the value of a filter. */
const MAX_VALUE = 1_000;
const ID = /^[\w.:-]{1,200}$/;
const NUMBER = /^[1-9]\d{0,14}$/;
/** Ids of messages and runs, which are not in memory. */
const MESSAGE_ID = /^(?:msg|wfr)_[\w-]+$/;

/** @throws {HttpError} 503 if the store cannot be read */
export async function findAnything(
  context: Pick<ApiContext, 'deps' | 'signal'>,
  text: string,
): Promise<readonly Hit[]> {
  const named = [...inMemory(context, text), ...(ID.test(text) ? await inStore(context, text) : [])];
  const filters: readonly Filter[] = [
    ...(STATUS_FORM.test(text) ? [{ name: 'responseStatus', value: text } as const] : []),
    ...(/\s/.test(text) ? [] : [{ name: 'url', value: text } as const]),
    { name: 'label', value: text },
  ];
  const listed = filters
    .filter(({ value }) => value.length <= MAX_VALUE)
    .flatMap((filter) => [...incidentsWith(context, filter), ...listsWith(context, filter)]);
  const hits = unique([...named, ...listed]);
  return hits.length === 0 && MESSAGE_ID.test(text) ? [{ kind: 'message', id: text }] : hits;
}

/** Returns true for a text with a dot, a slash or a port, as hosts and URLs have. */
export function isPlace(text: string): boolean {
  return /[./:]/.test(text) && !/\s/.test(text);
}

function inMemory({ deps }: Pick<ApiContext, 'deps'>, text: string): Hit[] {
  const incident = deps.incidents.find(text);
  const letters = findDeadLetters(deps, text);
  const policies = deps.configuration().policies.filter(({ name }) => name === text);
  const canaries = deps.canaries.states().filter(({ canary }) => canary === text);
  return [
    ...(incident === undefined ? [] : [{ kind: 'incident', id: incident.id } as const]),
    ...letters.map(({ account, row }): Hit => ({ kind: 'dead letter', id: row.dlqId, account })),
    ...policies.map(({ name }): Hit => ({ kind: 'policy', id: name })),
    ...canaries.map(({ canary }): Hit => ({ kind: 'canary', id: canary })),
    ...deps.accounts.flatMap(({ name }): Hit[] => {
      const runs = deps.board.latest(name, 'workflowDlq')?.rows ?? [];
      const isKnown =
        runs.some(({ workflowRunId }) => workflowRunId === text) ||
        deps.incidents.deadLetters(name)?.some(({ messageId }) => messageId === text) ||
        deps.failures(name)?.some(({ messageId }) => messageId === text);
      return isKnown === true ? [{ kind: 'message', id: text, account: name }] : [];
    }),
  ];
}

async function inStore(context: Pick<ApiContext, 'deps' | 'signal'>, text: string): Promise<Hit[]> {
  const [plan, action] = await fromLedger(context, (ledger) =>
    Promise.all([
      ledger.storedPlan(text, context.deps.clock.now()),
      NUMBER.test(text) ? ledger.action(Number(text)) : undefined,
    ]),
  );
  return [
    ...(plan === undefined ? [] : [{ kind: 'plan', id: plan.plan.id } as const]),
    ...(action === undefined ? [] : [{ kind: 'action', action } as const]),
  ];
}

function incidentsWith({ deps }: Pick<ApiContext, 'deps'>, { name, value }: Filter): Hit[] {
  const matches = incidentFilter(name, value);
  if (matches === undefined) return [];
  const found = deps.incidents.all().filter(matches);
  const open = found.filter(({ state }) => state !== 'resolved');
  return (open.length > 0 ? open : found).map(({ id }) => ({ kind: 'incident', id }));
}

function incidentFilter(name: Filter['name'], value: string): ((incident: Incident) => boolean) | undefined {
  if (name === 'label') return undefined;
  if (name === 'url') {
    // A place has no scheme.
    const matches = urlFilter(value.replace(/^\w[\w+.-]*:\/\//, ''));
    return ({ place }) => matches(place);
  }
  const matches = statusFilter(value);
  return ({ reason }) => matches(Number(/^HTTP (\d+)/.exec(reason)?.[1]));
}

function listsWith({ deps }: Pick<ApiContext, 'deps'>, filter: Filter): Hit[] {
  const { name, value } = filter;
  const query = readQuery(new URLSearchParams({ [name]: value, limit: '1' }), searchDeadLetters.query);
  const { total } = pageOfDeadLetters(deps, query);
  const [isUrl, isStatus] = [urlFilter(value), name === 'responseStatus' ? statusFilter(value) : () => false];
  const failed = deps.accounts.flatMap((account) =>
    (deps.failures(account.name) ?? []).filter(({ url = '', labels, responseStatus }) => {
      if (name === 'label') return labels.includes(value);
      return name === 'url' ? isUrl(url) : responseStatus !== undefined && isStatus(responseStatus);
    }),
  );
  return [
    ...(total > 0 ? [{ kind: 'dead letters', filter, count: total } as const] : []),
    ...(failed.length > 0 ? [{ kind: 'failures', filter, count: failed.length } as const] : []),
  ];
}

function unique(hits: readonly Hit[]): Hit[] {
  return [...new Map(hits.map((hit) => [JSON.stringify(hit), hit])).values()];
}
