/** Given part of a test, converted for the engine: entries, dead messages, and past actions in the ledger. */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { Proposal } from '#foundation/domain/plan.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { PlanDraft } from '../engine/decide/plan-draft.ts';
import type { Intents } from '../ledger/intents.ts';
import type { Runs } from '../ledger/runs.ts';
import type { Policy } from '../policies/policy.ts';
import type { PolicyTest, TestEntry } from './settings.ts';

const HOUR_MS = 3_600_000;

/** One entry, or the number that `count` states. */
export function entriesOf(given: TestEntry, now: number): WorkflowDlqEntry[] {
  const { dlqId, count, workflowRunId, failedAgo, status, attempts: _attempts, ...same } = given;
  return Array.from({ length: count }, (_, index) => {
    const suffix = count === 1 ? '' : `-${index + 1}`;
    return {
      ...same,
      dlqId: `${dlqId}${suffix}`,
      workflowRunId: `${workflowRunId ?? `run-${dlqId}`}${suffix}`,
      createdAt: now - failedAgo,
      ...(status !== 'none' && { responseStatus: status }),
    };
  });
}

export function deadLetterOf(
  { learnedAgo, messageId, body: _body, ...same }: PolicyTest['given']['deadLetters'][number],
  account: string,
  now: number,
): DeadLetter {
  return { ...same, account, messageId: messageId ?? `msg-${same.dlqId}`, learnedAt: now - learnedAgo };
}

/** Writes past actions into the ledger, as runs of their policy would have. */
export class Past {
  readonly #ledger: Runs & Intents;
  readonly #now: number;
  #serial = 0;

  constructor(ledger: Runs & Intents, now: number) {
    this.#ledger = ledger;
    this.#now = now;
  }

  /** Resumes of this run that failed again, the last one `lastAgo` before now. */
  async attempts(
    policy: Policy,
    entry: WorkflowDlqEntry,
    { count, lastAgo }: NonNullable<TestEntry['attempts']>,
  ): Promise<void> {
    const { workflowRunId, workflowUrl } = entry;
    for (let attempt = 1; attempt <= count; attempt++) {
      const at = this.#now - lastAgo - (count - attempt) * HOUR_MS;
      const proposal: Proposal = {
        ...this.#common(policy),
        action: 'workflow-dlq.resume',
        group: workflowUrl,
        items: 1,
        dlqId: `${entry.dlqId}/before-${attempt}`,
        workflowRunId: attempt === 1 ? `${workflowRunId}/first` : `${workflowRunId}/${attempt - 1}`,
        workflowUrl,
        lineage: `lineage-${entry.dlqId}`,
        failedAt: at - HOUR_MS,
        labels: entry.labels,
        cause: 'transient',
        attempt,
      };
      const newRunId = attempt === count ? workflowRunId : `${workflowRunId}/${attempt}`;
      const intent = await this.#reserve(policy, proposal, at);
      await this.#ledger.recordOutcome(intent, policy.account, { at, outcome: 'accepted', done: 1, newRunId });
      await this.#ledger.recordOutcome(intent, policy.account, { at: at + 1, outcome: 'failed_again' });
    }
  }

  async raise(policy: Policy, raise: PolicyTest['given']['raises'][number]): Promise<void> {
    const { ago, ...amounts } = raise;
    await this.acted(policy, { ago, items: 1 }, amounts);
  }

  /** An action. Only its items, its time, and the amounts of a raise matter. */
  async acted(
    policy: Policy,
    { ago, items }: PolicyTest['given']['acted'][number],
    amounts = { fromUsd: 0, toUsd: 0 },
  ): Promise<void> {
    const at = this.#now - ago;
    const common = this.#common(policy);
    const id = common.target;
    // The fields of all actions: the ledger reads those of this one.
    const run = { dlqId: id, workflowRunId: id, workflowUrl: '', lineage: id, failedAt: at, labels: [], cause: 'x' };
    const others = { messageId: id, attempt: 1, size: 0, page: 1, filter: { toDate: at }, ...amounts };
    const proposal = { ...common, ...run, ...others, group: '', items, action: policy.action.type } as Proposal;
    const intent = await this.#reserve(policy, proposal, at);
    await this.#ledger.recordOutcome(intent, policy.account, { at, outcome: 'verified', done: items });
  }

  #common(policy: Policy) {
    return { policy: policy.name, account: policy.account, target: `past-${++this.#serial}` };
  }

  async #reserve(policy: Policy, proposal: Proposal, at: number): Promise<number> {
    const context = {
      at,
      trigger: { kind: 'schedule' as const },
      effectiveMode: policy.mode,
      signal: new AbortController().signal,
    };
    const { plan } = new PlanDraft(policy, context).finish({});
    const runId = await this.#ledger.beginRun(plan, at);
    const reservation = await this.#ledger.reserve(runId, proposal, at, []);
    if (!reservation.ok) throw new Error(`the given past actions contradict each other: ${reservation.reason}`);
    await this.#ledger.finishRun(runId, policy.account, {
      at,
      outcome: 'acted',
      matched: proposal.items,
      acted: proposal.items,
      backlog: 0,
    });
    return reservation.intent.id;
  }
}
