/** Selection on the pages of dead letters: the page's own, checked ones, or all that match the filters of its address. */
import { QUEUE_OF, TEXT_FILTERS, type Selection } from '#foundation/domain/selection.ts';
import { hasScheme } from '#foundation/domain/typed-filters.ts';
import { pageOfDeadLetters, type FoundDeadLetter } from '../api/dead-letter-query.ts';
import { editedSelection } from '../api/edited-message.ts';
import { fromLedger } from '../api/from-store.ts';
import { searchDeadLetters } from '../contract/dead-letters.ts';
import { allow } from '../http/access.ts';
import { readForm } from '../http/form.ts';
import { pastOf, readQuery } from '../http/query.ts';
import { HttpError, type Reply } from '../http/reply.ts';
import { buttonOf, reasonOf } from './frame/fields.ts';
import { queryFilters } from './frame/filters.ts';
import type { PageContext } from './frame/page.ts';
import { makeManualPlan } from './manual-plan.ts';

/** Parameters that limit nothing by themselves: a time, a queue or an account alone selects too much. */
const NO_FILTERS: readonly string[] = ['account', 'queue', 'since', 'fromDate', 'toDate', 'limit', 'cursor'];
const ACTS = ['resume', 'delete', 'republish', 'delete-messages'] as const;
/** Maximum number of ids in a plan. More are selected by filters. */
const MOST_IDS = 1_000;
const PAGE = 500;

/** Returns true if the parameters have no filter. */
export function selectsEverything(query: URLSearchParams): boolean {
  return ![...query.keys()].some((name) => !NO_FILTERS.includes(name));
}

export async function planDeadLetters(context: PageContext): Promise<Reply> {
  const caller = allow(context, 'operator', 'opsd dlq resume');
  const form = await readForm(context, caller);
  const action = buttonOf(form, ACTS);
  const reason = reasonOf(form);
  const selection = form.get('scope') === 'all' ? allThatMatch(context, action) : checked(context, form, action);
  return makeManualPlan(context, await edited(context, selection, form.get('body')), { by: caller.by, reason });
}

/** @param body body of the only message on its page; null without the field */
async function edited(context: PageContext, selection: Selection, body: string | null): Promise<Selection> {
  const { account = '', ids: [id = ''] = [] } = selection;
  if (body === null) return selection;
  const read = await fromLedger(context, (ledger) => context.deps.bodies.read(account, id, ledger));
  const before = 'kept' in read ? Buffer.from(read.kept.body).toString('utf8') : '';
  // A browser sends each line end as CR LF.
  const after = before.includes('\r\n') ? body : body.replaceAll('\r\n', '\n');
  return after === before ? selection : editedSelection(context.deps, selection, { body: Buffer.from(after) });
}

type Act = (typeof ACTS)[number];

function checked(context: PageContext, form: URLSearchParams, action: Act): Selection {
  const ids = [...new Set(context.id === '' ? form.getAll('id') : [context.id])];
  if (ids.length === 0) {
    throw new HttpError(400, 'bad_selection', 'Nothing is selected. Check dead letters, or choose all that match.');
  }
  const queue = QUEUE_OF[action];
  const query = new URLSearchParams({ queue });
  for (const id of ids) query.append('dlqId', id);
  const account = queryFilters(context.query).get('account');
  if (account !== null) query.set('account', account);
  const found = matching(context, query);
  const unknown = ids.filter((id) => !found.some(({ row }) => row.dlqId === id));
  if (unknown.length > 0) {
    const message = `${unknown.length} of the selected dead letters are not in the ${queue} DLQ (any more): ${unknown.slice(0, 5).join(', ')}.`;
    throw new HttpError(409, 'other_queue', message);
  }
  return { action, ids, queue, account: accountOf(found) };
}

/** @throws {HttpError} 400 without a filter */
function allThatMatch(context: PageContext, action: Act): Selection {
  const query = queryFilters(context.query);
  if (selectsEverything(query)) {
    throw new HttpError(400, 'bad_selection', 'A filter is required to choose all that match.');
  }
  const queue = QUEUE_OF[action];
  query.set('queue', queue);
  query.delete('cursor');
  const found = matching(context, query);
  if (found.length === 0) throw new HttpError(409, 'bad_selection', `Nothing in the ${queue} DLQ matches any more.`);
  const account = accountOf(found);
  if (found.length <= MOST_IDS) return { action, queue, account, ids: found.map(({ row }) => row.dlqId) };
  return { action, account, ...filtersOnly(context, query) };
}

/** Filters of a plan with more entries than it can name. The service evaluates them again. */
function filtersOnly({ deps }: PageContext, query: URLSearchParams): Omit<Selection, 'action'> {
  const { incident, cause, dlqId, messageId, ...read } = readQuery(query, searchDeadLetters.query);
  const { since, fromDate, toDate, responseStatus, url = [], workflowUrl = [] } = read;
  if ([incident, cause, dlqId, messageId].some((value) => value !== undefined)) {
    const message = `More than ${MOST_IDS} match, so only filters of the service can select them: remove incident, cause and ids.`;
    throw new HttpError(400, 'bad_selection', message);
  }
  // The service compares whole values.
  if ([...url, ...workflowUrl].some((text) => !hasScheme(text)) || responseStatus?.some(isClass)) {
    const message = `More than ${MOST_IDS} match, so only filters of the service can select them: give the whole URL, and a status such as 503.`;
    throw new HttpError(400, 'bad_selection', message);
  }
  const now = deps.clock.now();
  const from = [since, fromDate].flatMap((text) => (text === undefined ? [] : [pastOf(text, now)]));
  return {
    ...Object.fromEntries(TEXT_FILTERS.flatMap((name) => (name in read ? [[name, read[name as 'url']]] : []))),
    ...(responseStatus !== undefined && { responseStatus: responseStatus.map(Number) }),
    ...(from.length > 0 && { fromDate: Math.max(...from) }),
    // Later failures were not on the page.
    toDate: toDate === undefined ? now : pastOf(toDate, now),
  };
}

function isClass(status: string): boolean {
  return Number.isNaN(Number(status));
}

/** @returns at most one more than a plan can name */
function matching({ deps }: PageContext, query: URLSearchParams): FoundDeadLetter[] {
  const all: FoundDeadLetter[] = [];
  const page = new URLSearchParams(query);
  page.set('limit', String(PAGE));
  for (;;) {
    const { found, cursor } = pageOfDeadLetters(deps, readQuery(page, searchDeadLetters.query));
    all.push(...found);
    if (cursor === undefined || all.length > MOST_IDS) return all;
    page.set('cursor', cursor);
  }
}

function accountOf(found: readonly FoundDeadLetter[]): string {
  const accounts = [...new Set(found.map(({ account }) => account))];
  if (accounts.length === 1) return accounts[0]!;
  throw new HttpError(400, 'bad_selection', `A plan is about one account. Filter by one of: ${accounts.join(', ')}.`);
}
