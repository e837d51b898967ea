/**
 * Runs that fail, and that another client resumes or deletes, while the daemon that counts the workflow DLQ is killed.
 * There are more workflows than places for them. Those with a place keep it.
 */
import { expect } from 'vitest';
import type { Exposition } from './exposition.ts';
import { ACCOUNT, losses, type Campaign, type CampaignBed } from './kill-campaign.ts';
import { removeRuns, resumeRuns, trigger } from './service.ts';
import { until } from './until.ts';

const WORKFLOWS = ['order', 'mail', 'invoice', 'parcel', 'refund', 'survey'];
const PLACES = 3;
/** More than a page, so that a single listing never proves a departure. */
const BEFORE = 130;
const ENTERED = 'msgsvc_workflow_dlq_entered_runs_total';
const LEFT = 'msgsvc_workflow_dlq_left_runs_total';

interface Told {
  readonly entered: number;
  readonly left: Readonly<Record<string, number>>;
  readonly held: number;
}

export function killedWorkflowDlq({ emulator, service, sinkUrl, below }: CampaignBed): Campaign<Told> {
  let failed = 0;
  let removed = 0;
  /** Runs that the daemon is known to have counted. A run that enters and leaves unseen is in neither sum. */
  let counted: string[] = [];
  const operations = ['list-workflow-dlq'];
  const held = (): string[] => emulator.workflowDlq(ACCOUNT).map(({ dlqId }) => dlqId);
  emulator.onFact((_account, fact) => {
    if (fact.kind === 'attempt' && fact.workflow && fact.outcome === 'failed') failed += 1;
  });
  const workflowUrl = (): string => `${sinkUrl}/bad/${WORKFLOWS[below(WORKFLOWS.length)]!}`;

  async function removeSome(): Promise<void> {
    const chosen = counted.splice(0, below(4));
    if (chosen.length === 0) return;
    removed += chosen.length;
    await (below(2) === 0 ? removeRuns(service, chosen) : resumeRuns(service, chosen));
  }

  return {
    collectors: { workflowDlq: { every: '1s', full: '10s' } },
    labels: { workflow: { max: PLACES } },
    async before() {
      await emulator.control.seed({ failedRuns: [{ url: `${sinkUrl}/bad/order`, count: BEFORE, status: 503 }] });
    },
    hasBegun: (metrics) => metrics.value('opsd_workflow_dlq_listing_complete') === 1,
    faults: [
      ...losses('list-workflow-dlq'),
      { operations, probability: 0.2, fault: { kind: 'duplicate', share: 0.3 } },
    ],
    async alive() {
      for (let runs = below(4); runs >= 0; runs -= 1) await trigger(service, workflowUrl(), { 'Svc-Retries': '0' });
      await removeSome();
    },
    dead: removeSome,
    seen(metrics) {
      if (metrics.sum(ENTERED) === failed) counted = held().toSorted(() => below(3) - 1);
    },
    async truth() {
      await emulator.idle();
      await until({ what: 'every run has failed' }, () => held().length === BEFORE + failed - removed);
      return { entered: failed, left: { other: removed }, held: held().length };
    },
    told: (metrics) => ({
      entered: metrics.sum(ENTERED),
      left: leftOf(metrics),
      held: metrics.sum('msgsvc_workflow_dlq_runs'),
    }),
    check(metrics) {
      const workflows = new Set(metrics.all(ENTERED).map(({ labels }) => labels['workflow']));
      expect(workflows.size).toBe(PLACES + 1);
      expect(workflows).toContain('other');
    },
  };
}

/** Returns the departures by cause. */
function leftOf(metrics: Exposition): Record<string, number> {
  const causes = new Set(metrics.all(LEFT).map(({ labels }) => labels['cause']!));
  const sums = [...causes].map((cause) => [cause, metrics.sum(LEFT, { cause })] as const);
  return Object.fromEntries(sums.filter(([, runs]) => runs > 0));
}
