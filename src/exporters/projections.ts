/**
 * The gauges of the collectors: fresh batches are shown whole, stale ones not at all. A batch is projected once; the
 * scrapes after it find the gauges as they are.
 */
import type { Batch, CollectorName } from '../domain/observation.ts';
import type { ObservationBoard } from '../observations/board.ts';
import type { Clock } from '../platform/clock.ts';
import { projectAccountStats } from './account-stats.ts';
import { METRIC_NAMES, specOf, type GaugeName, type MetricName } from './catalog.ts';
import type { Families, Samples } from './families.ts';
import { projectFlowControl } from './flow-control.ts';
import { projectLogs } from './log-progress.ts';
import type { Project } from './projection.ts';
import { projectSearchIndexes } from './search-index.ts';
import type { TelemetrySettings } from './settings.ts';
import { projectUrlGroups } from './url-group.ts';
import { projectVectorStats } from './vector-stats.ts';
import { projectWorkflowDlq } from './workflow-dlq.ts';
import { getOrAdd } from '../platform/get-or-add.ts';

/** Of the log, what is open; its counts come from the store (mirror.ts). */
const PROJECTIONS: { readonly [N in CollectorName]: Project<N> } = {
  logs: projectLogs,
  flowControl: projectFlowControl,
  workflowDlq: projectWorkflowDlq,
  urlGroups: projectUrlGroups,
  accountStats: projectAccountStats,
  searchIndexes: projectSearchIndexes,
  vectorStats: projectVectorStats,
};

const PROJECTED = Object.keys(PROJECTIONS) as readonly (keyof typeof PROJECTIONS)[];

/** How long a label set that is gone stays at 0. */
const LINGER_MS = 86_400_000;

export interface ProjectionsDeps {
  readonly board: ObservationBoard;
  readonly clock: Clock;
  readonly settings: TelemetrySettings['metrics'];
  readonly accounts: readonly { readonly name: string; readonly dlqRetentionMs?: number }[];
  readonly families: Families;
  readonly onFailure: (source: CollectorName) => void;
}

/** What the gauges show of one collector of one account. */
interface Shown {
  readonly batch: Batch | undefined;
  readonly samples: Samples | undefined;
}

/** A label set of a lingering metric, and when it was last part of a batch (monotonic). */
interface Remembered {
  readonly metric: MetricName;
  readonly labels: string;
  seenAt: number;
}

/** @returns a function that brings the gauges up to date, without awaiting */
export function createProjections(deps: ProjectionsDeps): () => void {
  const { board, families } = deps;
  const accounts = deps.accounts.map(({ name }) => name);
  const settings = new Map(
    deps.accounts.map(({ name, dlqRetentionMs }) => [
      name,
      { ...deps.settings, ...(dlqRetentionMs !== undefined && { dlqRetentionMs }) },
    ]),
  );
  const shown = new Map<string, Shown>();
  const remembered = new Map<string, Map<string, Remembered>>();

  function project<N extends keyof typeof PROJECTIONS>(collector: N, batch: Batch<N>): Samples | undefined {
    const { put, samples } = families.collect(collector);
    try {
      (PROJECTIONS[collector] as Project<N>)(batch, put, settings.get(batch.account)!);
    } catch {
      // A gap is better than a wrong number: what was put so far is not the whole.
      deps.onFailure(collector);
      return undefined;
    }
    linger(samples, `${collector}\0${batch.account}`);
    return samples;
  }

  /** Adds a zero for each label set that earlier batches had and this one has not. */
  function linger(samples: Samples, batchKey: string): void {
    const now = deps.clock.monotonic();
    const known = getOrAdd(remembered, batchKey, () => new Map<string, Remembered>());
    for (const [metric, ofMetric] of samples) {
      if (specOf(metric).lingers !== true) continue;
      for (const labels of ofMetric.keys()) known.set(`${metric}\0${labels}`, { metric, labels, seenAt: now });
    }
    for (const [id, { metric, labels, seenAt }] of known) {
      const ofMetric = getOrAdd(samples, metric, () => new Map<string, number>());
      if (ofMetric.has(labels)) continue;
      if (now - seenAt > LINGER_MS) known.delete(id);
      else ofMetric.set(labels, 0);
    }
  }

  function refresh(collector: keyof typeof PROJECTIONS): void {
    let changed = false;
    for (const account of accounts) {
      const key = `${collector}\0${account}`;
      const batch = board.fresh(account, collector);
      const before = shown.get(key);
      if (before !== undefined && before.batch === batch) continue;
      shown.set(key, { batch, samples: batch && project(collector, batch) });
      changed = true;
    }
    if (!changed) return;
    const parts = accounts.map((account) => shown.get(`${collector}\0${account}`)?.samples);
    families.exchange(
      gaugesOf(collector),
      parts.filter((part) => part !== undefined),
    );
  }

  return () => {
    for (const collector of PROJECTED) refresh(collector);
  };
}

function gaugesOf(collector: CollectorName): readonly GaugeName[] {
  return METRIC_NAMES.filter((name): name is GaugeName => specOf(name).collector === collector);
}
