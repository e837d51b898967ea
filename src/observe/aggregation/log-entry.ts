/** Log entries as the aggregation processes them: each with its state, in the order of a message's life. */
import { LOG_STATES, STATE_ORDER, type LogEntry, type MessageState } from '#foundation/domain/log-entry.ts';

export type StatedEntry = LogEntry & { readonly state: MessageState };

/** `state` filters to request when entries have no state. IN_PROGRESS is a union of some of them. */
export const STATE_PASSES = LOG_STATES.filter((state) => state !== 'IN_PROGRESS');
export type StatePass = (typeof STATE_PASSES)[number];

/** Returns a text that is the same for an entry each time it is listed without its state. */
export function statelessKey(entry: LogEntry): string {
  // Without a URL, entries of a URL Group's message differ by endpoint.
  const target = entry.url ?? entry.endpointName ?? '';
  return `${entry.time} ${entry.responseStatus ?? ''} ${entry.messageId} ${target}`;
}

/**
 * Assigns states to the entries of a service that returns none. The inputs are one unfiltered reading and one reading
 * per filter. An entry that only the unfiltered reading has is in the one state without a filter: it finally failed.
 *
 * The unfiltered reading must come first. An entry that arrives between the readings then has a state, and does not
 * look like a failure.
 *
 * @throws {Error} if the service ignores the filters; the counts would be guesses
 */
export function assignStates(
  unfiltered: readonly LogEntry[],
  passes: ReadonlyMap<StatePass, readonly LogEntry[]>,
): StatedEntry[] {
  const stated: StatedEntry[] = [];
  const found = new Map<string, Set<StatePass>>();
  for (const [state, entries] of passes) {
    for (const entry of entries) {
      const key = statelessKey(entry);
      stated.push({ ...entry, state });
      found.set(key, (found.get(key) ?? new Set()).add(state));
    }
  }
  for (const states of found.values()) {
    // No message is created, delivered and cancelled in the same millisecond with the same response.
    if (states.has('CREATED') && states.has('DELIVERED') && states.has('CANCELLED')) {
      throw new Error(
        'the log entries carry no state and the service ignores the state filter: nothing can be counted',
      );
    }
  }
  for (const entry of unfiltered) {
    if (!found.has(statelessKey(entry))) stated.push({ ...entry, state: 'FAILED' });
  }
  return stated;
}

const RANK = Object.fromEntries(STATE_ORDER.map((state, rank) => [state, rank])) as Readonly<
  Record<MessageState, number>
>;

/** Returns the position of the state in `STATE_ORDER`. */
export function rankOf(state: MessageState): number {
  return RANK[state];
}

type Ordered = Pick<StatedEntry, 'time' | 'state' | 'responseStatus'>;

/** Compares entries by time, then by state. The order is total, so the order of reading has no effect on the result. */
export function compareEntries(a: Ordered, b: Ordered): number {
  return a.time - b.time || RANK[a.state] - RANK[b.state] || (a.responseStatus ?? 0) - (b.responseStatus ?? 0);
}
