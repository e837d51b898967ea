/** Figures of the service other than its log: the events of its statistics, and the runs in the workflow DLQ. */
import { isDeepStrictEqual } from 'node:util';
import type { Fact } from '#emulator/statistics/facts.ts';
import type { Exposition } from '../support/exposition.ts';
import type { SimService } from './service.ts';
import { Violation } from './violation.ts';

const STATISTICS =
  /^msgsvc_account_(used_messages|used_workflow_messages|bandwidth_bytes|messages|workflow_messages)_total$/;

/** Duration that a point counts, from its time on. */
const POINT_MS = 60_000;

export class Figures {
  readonly #service: SimService;
  readonly #account: string;
  readonly #facts: Fact[] = [];

  /** @param account id at the service */
  constructor(service: SimService, account: string) {
    this.#service = service;
    this.#account = account;
    service.emulator.onFact((id, fact) => {
      if (id === account) this.#facts.push(fact);
    });
  }

  /** Compares the metrics with the events. @returns the difference, if there is one */
  difference(metrics: Exposition): Violation | undefined {
    return this.#ofStatistics(metrics) ?? this.#ofRuns(metrics);
  }

  #ofStatistics(metrics: Exposition): Violation | undefined {
    const counted = metrics.samples
      .filter(({ name, value }) => STATISTICS.test(name) && value > 0)
      .map(({ name, labels, value }) => [[name, labels['series']].filter(Boolean).join(' '), value] as const);
    const newest = Math.max(...metrics.all('opsd_stats_point_timestamp_seconds').map(({ value }) => value)) * 1_000;
    const figures = {
      counted: Object.fromEntries(counted),
      truth: totals(this.#facts.filter(({ at }) => at < newest + POINT_MS)),
    };
    if (isDeepStrictEqual(figures.counted, figures.truth)) return undefined;
    return new Violation('the statistics equal the truth', figures);
  }

  /** A run that the daemon itself removed before a collector read it is not counted. */
  #ofRuns(metrics: Exposition): Violation | undefined {
    this.#service.take();
    const failed = this.#facts.filter((fact) => fact.kind === 'attempt' && fact.workflow && fact.outcome === 'failed');
    const runs = {
      failed: failed.length,
      removed: this.#service.sent.filter(({ path, status }) => path.includes('/workflows/dlq') && status === 200)
        .length,
      held: this.#service.emulator.workflowDlq(this.#account).length,
      entered: metrics.sum('msgsvc_workflow_dlq_entered_runs_total'),
      left: metrics.sum('msgsvc_workflow_dlq_left_runs_total'),
      present: metrics.sum('msgsvc_workflow_dlq_runs'),
    };
    const unseen = runs.failed - runs.entered;
    const isTrue = unseen >= 0 && unseen <= runs.removed - runs.left && runs.left === runs.entered - runs.held;
    return isTrue && runs.present === runs.held
      ? undefined
      : new Violation('the runs of the DLQ equal the truth', runs);
  }
}

function totals(facts: readonly Fact[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  const add = (series: string, by = 1): void => void (counts[series] = (counts[series] ?? 0) + by);
  for (const fact of facts) {
    const kind = fact.workflow ? 'workflow_messages' : 'messages';
    if (fact.kind !== 'canceled') add('msgsvc_account_bandwidth_bytes_total', fact.bytes);
    if (fact.kind !== 'attempt') {
      add(`msgsvc_account_${kind}_total ${fact.kind}`);
      continue;
    }
    add(`msgsvc_account_used_${kind}_total`);
    add(`msgsvc_account_${kind}_total ${fact.outcome === 'delivered' ? 'delivered' : 'error'}`);
    if (fact.outcome !== 'delivered') add(`msgsvc_account_${kind}_total ${fact.outcome}`);
  }
  return counts;
}
