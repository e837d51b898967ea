/** Pauses the whole engine if the service acted on more than one request allowed. */
import { asked, type ActionRequest, type ActResult } from '../../actions/action.ts';
import type { Denial, Proposal } from '#foundation/domain/plan.ts';
import type { Authority } from '../guard/authority.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';
import { firstDenial, guardsAt } from '../guard/guards-at.ts';

export async function pauseIfMore(
  proposal: Proposal,
  request: ActionRequest,
  result: ActResult,
  { guards, authority }: Pick<EngineDeps, 'guards'> & { readonly authority: Authority },
): Promise<Denial | undefined> {
  if (result.outcome !== 'accepted') return undefined;
  const surplus = firstDenial(guardsAt(guards, 'answer'), { asked: asked(request), done: result.done });
  if (surplus !== undefined)
    await authority.pause('engine', `${surplus.guard} (${proposal.target}): ${surplus.reason}`);
  return surplus;
}
