/** How old the data of a source is. */
import { sel } from './selectors.ts';

const AGE = `(time() - ${sel('opsd_collector_last_success_timestamp_seconds')})`;

/** Seconds since a source was last read whole. */
export const SOURCE_AGE = `max by (account, collector) ${AGE}`;

/**
 * The same over what is usual before gauges are withheld: three intervals, at least 3 minutes. A source that was never
 * read has no age, and is withheld: that is all of its time.
 */
export const SOURCE_AGE_RATIO = `max by (account, collector) (${AGE} / clamp_min(3 * ${sel('opsd_collector_interval_seconds')}, 180)) or max by (account, collector) (${sel('opsd_collector_stale')} == 1)`;
