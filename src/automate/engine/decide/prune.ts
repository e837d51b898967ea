/**
 * Plan of a prune by filters. It cannot list what it deletes. So it is bounded by time, by pages, and by the caps
 * before each page. The first page of a run is one message.
 */
import type { PruneProposal } from '#foundation/domain/plan.ts';
import type { PrunePolicy } from '../../policies/policy.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import { withinCaps } from './caps.ts';
import { PlanDraft, type Decision, type PlanContext } from './plan-draft.ts';

const PAGE = 100;

export async function decidePrune(policy: PrunePolicy, context: PlanContext, deps: EngineParts): Promise<Decision> {
  const draft = new PlanDraft(policy, context);
  const asked = policy.filter(context.at);
  const filter = { ...asked, toDate: Math.min(asked.toDate, context.prune?.notAfter ?? Infinity) };
  const known = deps.facts.dlqMessages(policy.account);
  const labels = deps.settings.protectedLabels;
  draft.notes.push(
    'The messages cannot be listed: the service only returns how many it deleted.',
    ...(labels.length === 0
      ? []
      : [`Protected labels have no effect: messages with ${labels.join(', ')} are deleted as well.`]),
    `At most ${policy.limits.maxPerRun} messages that failed before ${new Date(filter.toDate).toISOString().slice(0, 16)}Z` +
      `${known === undefined ? '' : `; the DLQ has ${known} messages`}.`,
  );
  const pages: PruneProposal[] = [];
  let left = Math.min(policy.limits.maxPerRun, context.prune?.atMost ?? Infinity);
  for (let page = 1; left > 0; page++) {
    const items = page === 1 ? 1 : Math.min(PAGE, left);
    left -= items;
    pages.push({
      policy: policy.name,
      account: policy.account,
      action: 'message-dlq.prune',
      // The run makes the target unique when it reserves it: two plans may have equal pages.
      target: `prune/${page}`,
      group: '',
      items,
      page,
      filter,
    });
  }
  const items = pages.reduce((sum, page) => sum + page.items, 0);
  const { caps } = context.known;
  const chosen = withinCaps(policy, pages, { draft, caps }, deps);
  const planned = chosen.reduce((sum, page) => sum + page.items, 0);
  return draft.finish({ matched: items, chosen, backlog: items - planned, caps });
}
