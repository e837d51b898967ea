/** How old the data of a source is. */
import { sel } from './selectors.ts';

const AGE = `(time() - ${sel('opsd_collector_last_success_timestamp_seconds')})`;

/** Seconds since a source was last read whole. */
export const SOURCE_AGE = `max by (account, collector) ${AGE}`;

/** The same over what is usual before gauges are withheld: three intervals, at least 3 minutes. */
export const SOURCE_AGE_RATIO = `max by (account, collector) (${AGE} / clamp_min(3 * ${sel('opsd_collector_interval_seconds')}, 180))`;
