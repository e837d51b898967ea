import type { Proposal } from '#foundation/domain/plan.ts';
import type { EventOf } from '#foundation/events/events.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';

interface ReportedOutcome extends Pick<EventOf<'action.outcome'>, 'outcome' | 'durationMs'> {
  readonly detail: string | undefined;
  /** Entries that the service reports it acted on. */
  readonly done?: number | undefined;
}

/** Emits the outcome of an action after it was recorded. */
export function reportOutcome(
  proposal: Proposal,
  { outcome, durationMs, detail, done }: ReportedOutcome,
  { events }: Pick<EngineDeps, 'events'>,
): void {
  const { policy, account, action, target, items } = proposal;
  events.emit({
    type: 'action.outcome',
    policy,
    account,
    action,
    target,
    ...('workflowRunId' in proposal && { workflowRunId: proposal.workflowRunId }),
    outcome,
    items,
    durationMs,
    ...(detail !== undefined && { detail }),
    ...(done !== undefined && { done }),
  });
}
