/** Age of a source's data. */
import { sel } from './selectors.ts';

const AGE = `(time() - ${sel('opsd_collector_last_success_timestamp_seconds')})`;

/** Seconds since the last complete reading of a source. */
export const SOURCE_AGE = `max by (account, collector) ${AGE}`;

/**
 * Age divided by the maximum age: three intervals, at least 3 minutes. A source that was never read has no age. It is
 * withheld and counts as 100 %.
 */
export const SOURCE_AGE_RATIO = `max by (account, collector) (${AGE} / clamp_min(3 * ${sel('opsd_collector_interval_seconds')}, 180)) or max by (account, collector) (${sel('opsd_collector_stale')} == 1)`;
