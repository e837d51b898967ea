/** Projection of a batch to gauges. Each collector whose rows are exported directly has one. */
import type { Batch, CollectorName } from '#foundation/domain/observation.ts';
import type { Put } from './families.ts';
import type { MetricsSettings } from './settings.ts';

/** Settings of the metrics and of the batch's account. */
type ProjectionSettings = MetricsSettings & {
  /** Retention of dead letters in the service; absent if unknown. */
  readonly dlqRetentionMs?: number;
};

/**
 * Projects a batch. A projection of many rows yields the number of processed rows after each step, so that other work
 * can run in between.
 */
export type Project<N extends CollectorName> = (
  batch: Batch<N>,
  put: Put,
  settings: ProjectionSettings,
) => Iterable<number> | undefined;
