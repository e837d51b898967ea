/** Log entries as the fold takes them: each with its state, in the order of a message's life. */
import type { LogEntry, MessageState } from '#foundation/domain/log-entry.ts';

export type StatedEntry = LogEntry & { readonly state: MessageState };

/** The `state` filters that are asked for when entries carry no state; IN_PROGRESS is a union of some of them. */
export const STATE_PASSES = [
  'CREATED',
  'ACTIVE',
  'RETRY',
  'ERROR',
  'DELIVERED',
  'CANCEL_REQUESTED',
  'CANCELLED',
] as const satisfies readonly MessageState[];
export type StatePass = (typeof STATE_PASSES)[number];

/** Returns a text that is the same for an entry whenever it is listed without its state. */
export function statelessKey(entry: LogEntry): string {
  // Entries of a URL Group's message differ by endpoint when the service leaves out the URL.
  const target = entry.url ?? entry.endpointName ?? '';
  return `${entry.time} ${entry.responseStatus ?? ''} ${entry.messageId} ${target}`;
}

/**
 * Puts together one unfiltered reading and one reading for each filter, of a service whose entries carry no state.
 * What only the unfiltered one has is in a state that has no filter: it failed for good.
 *
 * The unfiltered reading must come first: then an entry that arrives in between has a state already, instead of
 * looking like a failure.
 *
 * @throws {Error} when the filters do not filter: counting would then be guessing
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
    // No message is created, delivered and cancelled at the same millisecond with the same answer.
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

/** The order in which a message passes through states that share a millisecond. */
export const STATE_ORDER = [
  'CREATED',
  'ACTIVE',
  'ERROR',
  'RETRY',
  'CANCEL_REQUESTED',
  'DELIVERED',
  'FAILED',
  'CANCELLED',
] as const satisfies readonly MessageState[];

const RANK = Object.fromEntries(STATE_ORDER.map((state, rank) => [state, rank])) as Readonly<
  Record<MessageState, number>
>;

/** The state's place in `STATE_ORDER`. */
export function rankOf(state: MessageState): number {
  return RANK[state];
}

interface Ordered {
  readonly time: number;
  readonly state: MessageState;
  readonly responseStatus?: number | undefined;
}

/** Orders entries by time, then by state; a total order, so that the order of reading leaves no trace. */
export function compareEntries(a: Ordered, b: Ordered): number {
  return a.time - b.time || RANK[a.state] - RANK[b.state] || (a.responseStatus ?? 0) - (b.responseStatus ?? 0);
}
