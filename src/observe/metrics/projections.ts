/**
 * Gauges of the collectors. Fresh batches are exported completely, stale ones not at all. A batch is projected once, on
 * arrival, in slices that yield to the event loop. It then replaces the previous batch in one turn. A scrape only
 * checks the age of the gauges.
 */
import type { Batch, CollectorName } from '#foundation/domain/observation.ts';
import { specOf, type MetricName } from '../catalog/catalog.ts';
import type { Families, Put, Samples } from './families.ts';
import * as gauges from './resource-gauges.ts';
import type { Project } from './resource-gauges.ts';
import type { MetricsDeps } from './sources.ts';
import { projectWorkflowDlq } from './workflow-dlq.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { nextTurn } from '#foundation/platform/next-turn.ts';

/**
 * Projection of each collector. The log's projection has its open messages; its counts come from the store (mirror.ts).
 */
const PROJECTIONS: { readonly [N in CollectorName]: Project<N> } = {
  logs: gauges.logGauges,
  flowControl: gauges.flowControlGauges,
  workflowDlq: projectWorkflowDlq,
  urlGroups: gauges.urlGroupGauges,
  accountStats: gauges.accountStatsGauges,
  searchIndexes: gauges.searchIndexGauges,
  vectorStats: gauges.vectorStatsGauges,
};

/** Number of rows projected without yielding to the event loop: about a millisecond. */
const SLICE_ROWS = 2_048;

/** Time that a removed label set stays at 0. */
const LINGER_MS = 86_400_000;

export interface ProjectionsDeps extends Pick<MetricsDeps, 'board' | 'clock' | 'settings' | 'accounts'> {
  readonly families: Families;
}

export interface Projections extends Disposable {
  /** Withholds stale gauges, synchronously. */
  refresh(): void;
}

interface Arrival {
  readonly batch: Batch;
  /** Monotonic. */
  readonly at: number;
}

/** Exported gauges of one collector of one account. */
interface Shown {
  readonly account: string;
  readonly collector: CollectorName;
  readonly arrivedAt: number;
  /** Undefined while the gauges are withheld. */
  readonly samples: Samples | undefined;
}

/** Label set of a lingering metric, and when it was last part of a batch (monotonic). */
interface Remembered {
  readonly metric: MetricName;
  readonly labels: string;
  seenAt: number;
}

export function createProjections(deps: ProjectionsDeps): Projections {
  const { board, clock, families } = deps;
  const settings = new Map(
    deps.accounts.map(({ name, dlqRetentionMs }) => [name, { ...deps.settings, dlqRetentionMs }]),
  );
  /** Batches that are not projected yet: the latest of each collector and account. */
  const arrivals = new Map<string, Arrival>();
  const shown = new Map<string, Shown>();
  const remembered = new Map<string, Map<string, Remembered>>();
  let isBusy = false;
  let isOver = false;

  function arrive(batch: Batch, at: number): void {
    if (!settings.has(batch.account)) return;
    arrivals.set(keyOf(batch), { batch, at });
    if (isBusy) return;
    isBusy = true;
    void work();
  }

  /**
   * Projects all arrivals. The work ends in the turn that finds nothing left; a later arrival starts it again. Never
   * rejects.
   */
  async function work(): Promise<void> {
    // The publisher is not blocked.
    await nextTurn();
    let spent = 0;
    for (const [key, { batch, at }] of arrivals) {
      arrivals.delete(key);
      const { put, samples } = families.collect(batch.collector);
      let isWhole = true;
      try {
        for (const rows of stepsOf(batch, put)) {
          spent += rows;
          if (spent < SLICE_ROWS) continue;
          await nextTurn();
          if (isOver) return;
          spent = 0;
        }
        linger(samples, key);
      } catch {
        // A gap is better than a wrong number: the samples so far are incomplete.
        isWhole = false;
        families.fail(batch.collector);
      }
      show({ ...batch, arrivedAt: at, samples: isWhole ? samples : undefined });
    }
    isBusy = false;
  }

  function stepsOf<N extends CollectorName>(batch: Batch<N>, put: Put): Iterable<number> {
    const project = PROJECTIONS[batch.collector] as Project<N>;
    return project(batch, put, settings.get(batch.account)!) ?? [batch.rows.length];
  }

  /** Replaces only the gauges of this batch, because there may be hundreds of accounts. */
  function show(next: Shown): void {
    const key = keyOf(next);
    families.replace(shown.get(key)?.samples, next.samples);
    shown.set(key, next);
  }

  /** Adds a zero for each label set that earlier batches had and this one lacks. */
  function linger(samples: Samples, batchKey: string): void {
    const now = clock.monotonic();
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

  const subscription = board.subscribe(arrive);
  return {
    refresh() {
      for (const one of shown.values()) {
        if (one.samples === undefined || !board.isStale(one.account, one.collector, one.arrivedAt)) continue;
        show({ ...one, samples: undefined });
      }
    },
    [Symbol.dispose]() {
      subscription[Symbol.dispose]();
      arrivals.clear();
      isOver = true;
    },
  };
}

function keyOf({ account, collector }: Pick<Batch, 'account' | 'collector'>): string {
  return `${collector}\0${account}`;
}
