/** What makes gauges of a batch: a function for each collector whose rows are shown as they are. */
import type { Batch, CollectorName } from '#foundation/domain/observation.ts';
import type { Put } from './families.ts';
import type { MetricsSettings } from './settings.ts';

/** What is configured besides: of metrics, and of the account that the batch is about. */
type ProjectionSettings = MetricsSettings & {
  /** How long the service keeps dead letters; absent when that is not known. */
  readonly dlqRetentionMs?: number;
};

/**
 * Where there may be many rows, the work comes in steps: each yields how many rows it took, and others have their turn
 * in between.
 */
export type Project<N extends CollectorName> = (
  batch: Batch<N>,
  put: Put,
  settings: ProjectionSettings,
) => Iterable<number> | undefined;
