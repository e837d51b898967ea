/** Manual plan from a page: the selection is checked, the plan is saved, and its page is shown. */
import { selectionFault, type Selection } from '#foundation/domain/selection.ts';
import { refusedError } from '../api/implement.ts';
import { HttpError, type Reply } from '../http/reply.ts';
import { goTo, type PageContext } from './frame/page.ts';
import { planPath } from '../contract/page-paths.ts';
import { unkept } from './policy.ts';

/** @throws {HttpError} 400 for a selection without an id and without a filter */
export async function makeManualPlan(
  context: PageContext,
  selection: Selection,
  person: { readonly by: string; readonly reason: string },
): Promise<Reply> {
  const { deps, signal } = context;
  // The engine checks this again: no caller may select everything.
  const fault = selectionFault(selection, deps.clock.now());
  if (fault !== undefined) throw new HttpError(400, 'bad_selection', `The selection is wrong: ${fault}.`);
  context.mayTakeLong();
  const made = await deps.engine.planManually({ ...person, selection }, signal);
  if (!made.ok) throw refusedError(made);
  return made.plan.id === undefined ? unkept(context, made.plan) : goTo(planPath(made.plan.id));
}
