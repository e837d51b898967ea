/**
 * Timeline of a server: the number of the history that its write-ahead log continues. A promoted standby begins another
 * one, and may lack the last commits of the one before. So no lease and no open commit survives a promotion: what a
 * process has in memory may be ahead of the database.
 */

/** Expression of the timeline, as eight hexadecimal digits. */
export const TIMELINE = 'substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)';

/** Epochs of a timeline. The first one follows the last possible epoch of the timeline before. */
const EPOCHS = 1_000_000;

/** Expression of the last possible epoch of earlier timelines. */
export const ENDED_EPOCHS = `((CAST(CAST('x' || ${TIMELINE} AS bit(32)) AS bigint) - 1) * ${EPOCHS})`;

/** Returns true if a lease of this epoch was taken on this timeline, or on a later one. */
export function isOfTimeline(epoch: number, timeline: string): boolean {
  return epoch > (Number.parseInt(timeline, 16) - 1) * EPOCHS;
}
