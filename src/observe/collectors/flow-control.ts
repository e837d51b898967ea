/**
 * Collects the current state of flow-control keys. The service has no list of them. The collector reads the configured
 * keys, and keys from entries of the log and the workflow DLQ. Of the latter it takes the first seen, up to the
 * configured maximum.
 */
import type { WatchedFlowControlKey } from '#foundation/domain/flow-control.ts';
import { isInvalidRequest, serviceErrorCode } from '#foundation/domain/service-error.ts';
import { aggregateFlowControl } from '../aggregation/flow-control.ts';
import type { Increment } from '../aggregation/totals.ts';
import { collectorOf, type CollectorContext } from './collector.ts';
import { readEach } from './read-all.ts';
import { timing } from './settings.ts';

export const flowControl = collectorOf({
  name: 'flowControl',
  api: 'message',
  lacks({ flowControlKeys, settings }) {
    const hasNone = flowControlKeys.length === 0 && settings.flowControl.discover === 0;
    return hasNone ? 'no flow-control keys configured, and none are discovered' : undefined;
  },
  async collect(api, context) {
    const { target, signal, clock, stores } = context;
    const { seen } = stores.flowControl.memory(target.account);
    const { discover } = target.settings.flowControl;
    const found = seen.choose(target.flowControlKeys, discover, clock.monotonic());
    const discovered = new Set(found.keys);
    const { rows, dropped } = await readEach(
      signal,
      [...target.flowControlKeys, ...discovered],
      async (key, joined) => {
        try {
          return await api.getFlowControl(key, { signal: joined });
        } catch (error) {
          // Publishers name keys: an invalid one must not prevent the reading of the others.
          if (discovered.has(key) && isRefused(error)) return undefined;
          throw error;
        }
      },
    );
    const known = new Set(rows.map(({ flowControlKey }) => flowControlKey));
    // A discovered key may no longer exist; this is not a missing row.
    const gone = found.keys.filter((key) => !known.has(key));
    for (const key of gone) seen.delete(key);
    await count(context, rows, found.newlyUnwatched);
    return {
      rows: rows.map((row): WatchedFlowControlKey =>
        discovered.has(row.flowControlKey) ? { ...row, isDiscovered: true } : row,
      ),
      dropped: Math.max(0, dropped - gone.length),
    };
  },
});

/** Returns true if the key is not valid in a request, or the service rejects it. */
function isRefused(error: unknown): boolean {
  return isInvalidRequest(error) || serviceErrorCode(error) === 'client_error';
}

async function count(
  context: CollectorContext<'flowControl'>,
  rows: readonly WatchedFlowControlKey[],
  newlyUnwatched: number,
): Promise<void> {
  const { clock, stores, target } = context;
  const memory = stores.flowControl.memory(target.account);
  const aggregation = aggregateFlowControl({ rows, at: clock.monotonic() }, memory, {
    admit: (label, value) => context.admit(label, value),
    maxGapMs: timing('flowControl', target.settings).maxStalenessMs,
  });
  const increments: Increment[] = [...aggregation.increments];
  if (newlyUnwatched > 0 || !memory.isBegun) {
    increments.push({ metric: 'opsd_flow_control_keys_unwatched_total', labels: [], by: newlyUnwatched });
  }
  if (increments.length > 0) await stores.flowControl.commitFlowControl(target.account, increments);
  memory.isBegun = true;
  memory.readings = aggregation.readings;
  for (const label of aggregation.counted) memory.counted.add(label);
}
