/** Builds the news of a commit about a message from its steps. */
import type { MessageAggregate } from './message-aggregation.ts';
import type { AttemptTrace, MessageDescription, MessageProgress } from './message-trace.ts';
import { dueAfter, isOutcome, type MessageRecord, type MessageStep } from './open-message.ts';

export interface ProgressFacts {
  readonly account: string;
  readonly messageId: string;
  readonly aggregated: Pick<MessageAggregate, 'record' | 'endedNow' | 'isPast'>;
  /** Steps that are new in this commit. */
  readonly fresh: readonly MessageStep[];
  readonly described: MessageDescription;
}

export function messageProgress({
  account,
  messageId,
  aggregated,
  described,
  ...facts
}: ProgressFacts): MessageProgress {
  const { steps, end } = aggregated.record;
  const fresh = new Set(facts.fresh);
  const created = steps.find((step) => step.state === 'CREATED');
  const { attempts, news, outcomes, activeSince } = attemptsOf(steps, fresh);
  return {
    account,
    messageId,
    ...described,
    ...(created !== undefined && { createdAt: created.time, dueAt: dueAfter(created) }),
    attempts,
    ...(activeSince !== undefined && { activeSince }),
    ...(end !== undefined && { end: { at: steps.at(-1)!.time, outcome: end } }),
    news: {
      created: created !== undefined && fresh.has(created),
      attempts: news,
      outcomes,
      ended: aggregated.endedNow,
      ...(aggregated.isPast && { isPast: true }),
    },
  };
}

/** Returns the facts about a message that has no new entries. */
export function progressOfRecord(account: string, messageId: string, record: MessageRecord): MessageProgress {
  const aggregated = { record, endedNow: false, isPast: false };
  return messageProgress({ account, messageId, aggregated, fresh: [], described: record.described });
}

/** Returns the attempts: one per outcome. An attempt starts with the last ACTIVE since the previous outcome. */
function attemptsOf(
  steps: readonly MessageStep[],
  fresh: ReadonlySet<MessageStep>,
): {
  readonly attempts: AttemptTrace[];
  readonly news: number[];
  readonly outcomes: number[];
  readonly activeSince: number | undefined;
} {
  const attempts: AttemptTrace[] = [];
  const news: number[] = [];
  const outcomes: number[] = [];
  let active: MessageStep | undefined;
  let dueAt: number | undefined;
  for (const step of steps) {
    if (step.state === 'CREATED') dueAt = dueAfter(step);
    if (step.state === 'ACTIVE') active = step;
    // FAILED is a separate attempt only if no ERROR reported that attempt.
    const isAttempt =
      isOutcome(step.state) || (step.state === 'FAILED' && (active !== undefined || attempts.length === 0));
    if (!isAttempt) continue;
    if (fresh.has(step)) outcomes.push(attempts.length);
    if (fresh.has(step) || (active !== undefined && fresh.has(active))) news.push(attempts.length);
    attempts.push({
      ...(dueAt !== undefined && { dueAt }),
      ...(active !== undefined && { startedAt: active.time }),
      endedAt: step.time,
      ...(step.responseStatus !== undefined && { responseStatus: step.responseStatus }),
      ...(step.reason !== undefined && { failure: step.reason }),
    });
    active = undefined;
    dueAt = step.nextDeliveryTime;
  }
  return { attempts, news, outcomes, activeSince: active?.time };
}
