/** Edit of a message before it is published again. Its content goes to the store, sealed; the plan has its hash. */
import { isDeepStrictEqual } from 'node:util';
import { redact, redactData } from '#foundation/domain/redact.ts';
import type { Plan } from '#foundation/domain/plan.ts';
import type { Selection } from '#foundation/domain/selection.ts';
import { editOf } from '#foundation/domain/carried-message.ts';
import { jsonOf } from '#foundation/domain/json.ts';
import type { BodyChange } from '#automate/ledger/kept-bodies.ts';
import { HttpError } from '../http/reply.ts';
import type { ApiContext } from './api-deps.ts';
import type { DeadLetterDeps } from './dead-letter-query.ts';
import { findDeadLetter, redactedBody } from './dead-letter-views.ts';
import { fromLedger } from './from-store.ts';

/** Stores an edit. @returns the selection with its hash @throws {HttpError} if the message cannot be edited */
export async function editedSelection(
  deps: Pick<ApiContext['deps'], 'bodies' | 'ledger'> & DeadLetterDeps,
  selection: Selection,
  change: BodyChange,
): Promise<Selection> {
  const [id, ...others] = selection.ids ?? [];
  if (selection.action !== 'republish' || id === undefined || others.length > 0) {
    throw new HttpError(400, 'bad_selection', 'Only a republish of one id can have an edit.');
  }
  const { account } = findDeadLetter(deps, id, selection.account);
  const done = await deps.bodies.change(account, id, change, deps.ledger);
  if ('reason' in done) throw new HttpError(409, 'bad_selection', done.reason);
  return { ...selection, account, edit: done.edit };
}

/** Largest text of a form. */
const MOST_CHARACTERS = 65_536;

/** Returns the body as text for a form; or why a form cannot have it. */
export function editableText(body: Uint8Array): { readonly text: string } | { readonly reason: string } {
  const text = Buffer.from(body).toString('utf8');
  if (!Buffer.from(text).equals(body) || text.includes('\0')) return { reason: 'the body is no text' };
  if (text.length > MOST_CHARACTERS) return { reason: 'the body is too long' };
  const value = jsonOf(text);
  if (redact(text) === text && isDeepStrictEqual(redactData(value), value)) return { text };
  return { reason: 'the body has what may be a secret, which no page shows' };
}

/** Returns the bodies of an edited message before and after, without secrets, in lines; undefined without an edit. */
export async function editOfPlan(
  context: Pick<ApiContext, 'deps' | 'signal'>,
  { account, manual }: Plan,
): Promise<{ readonly before: string; readonly after: string } | undefined> {
  const { edit, ids: [id] = [] } = manual?.selection ?? {};
  if (edit === undefined || id === undefined) return undefined;
  const { bodies } = context.deps;
  const [before, after] = await fromLedger(context, (ledger) =>
    Promise.all([bodies.read(account, id, ledger), bodies.read(account, editOf(id), ledger)]),
  );
  if ('reason' in before || 'reason' in after) return undefined;
  const [old, edited] = [before, after].map(({ kept }) => redactedBody(Buffer.from(kept.body).toString('utf8'), 2));
  return { before: old!, after: edited! };
}
