/** What keeps the messages of a flow-control key waiting, and what would end it: only where facts support it. Pure. */
import type { Constraint, FlowControlKey } from '#foundation/domain/flow-control.ts';

/** Fewest readings of a statement about a period, and the share of them from which messages mostly wait. */
const LEAST_READINGS = 10;
const MOSTLY = 0.5;

/** @param history highest number of waiting messages in each period with a reading */
export function flowControlAdvice(
  key: FlowControlKey,
  constraint: Constraint | undefined,
  history: readonly { readonly waitListSize: number }[],
): string | undefined {
  if (constraint === 'paused') return 'Nothing is delivered until the key is resumed.';
  const waited = history.filter(({ waitListSize }) => waitListSize > 0).length;
  if (history.length < LEAST_READINGS || waited < history.length * MOSTLY) return undefined;
  const share = `Messages waited in ${Math.round((100 * waited) / history.length)} % of the last hours`;
  const { parallelismMax, rateMax, ratePeriod, isPinnedParallelism, isPinnedRate } = key;
  if (constraint === 'parallelism') {
    return `${share}, and parallelism ${parallelismMax} is used fully. ${raise('parallelism', isPinnedParallelism)}`;
  }
  if (constraint !== 'rate') return undefined;
  const period = ratePeriod === undefined ? '' : ` in ${ratePeriod} s`;
  return `${share}, and the rate of ${rateMax}${period} is used fully. ${raise('rate', isPinnedRate)}`;
}

function raise(limit: string, isPinned = false): string {
  const how = isPinned ? `pin a higher ${limit}` : `publish with a higher ${limit}`;
  return `If the destination answers no 429, ${how}.`;
}
