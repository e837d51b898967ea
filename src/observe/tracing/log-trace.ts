/** Builds the trace of one message from its current log entries: all spans that the daemon would have sent. */
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import { WindowAggregation } from '../aggregation/log.ts';
import { assignStates, STATE_PASSES, type StatedEntry, type StatePass } from '../aggregation/log-entry.ts';
import { LogMemory, type EntryMode } from '../aggregation/log-store.ts';
import type { MessageProgress } from '../aggregation/message-trace.ts';
import { deliverySpans } from './delivery-spans.ts';
import type { TraceSettings } from './settings.ts';
import { tellingOf } from './span-sampling.ts';
import type { Span } from './span.ts';

export interface LogTrace {
  /** Root first, then waits and attempts in order. */
  readonly spans: readonly Span[];
  readonly isOpen: boolean;
  /** True if the daemon, as far as is known, sends the trace with these settings. */
  readonly isSent: boolean;
}

/**
 * Maximum length of a span, longer than the life of any message. Nothing is shortened here because no receiver is
 * involved.
 */
const WHOLE_MS = 400 * 24 * 3_600_000;

/** Facts of the log about one message, and its entries. */
export interface MessageFacts {
  readonly message: MessageProgress;
  /** Entry mode of the log, as far as these entries show it. */
  readonly entryMode: EntryMode;
  /** Entries in reading order. */
  readonly entries: readonly StatedEntry[];
}

/**
 * @param read returns all entries of the message, or those that a state filter returns
 * @returns undefined if the log has no entry of the message
 */
export async function messageFromLog(
  account: string,
  read: (state?: StatePass) => Promise<readonly LogEntry[]>,
): Promise<MessageFacts | undefined> {
  const entries = await readStated(read);
  const memory = new LogMemory();
  const aggregation = new WindowAggregation({ account, from: -Infinity, memory, admit: (_label, value) => value });
  for (const entry of entries) aggregation.take(entry);
  const entryMode: EntryMode = entries.length === 1 && entries[0]!.state !== 'CREATED' ? 'snapshot' : 'transitions';
  const [message] = aggregation.finish(new Map(), { entryMode }).progress();
  return message && { message, entryMode, entries };
}

/** Parameters and result as in `messageFromLog`. */
export async function traceFromLog(
  about: { readonly account: string; readonly settings: TraceSettings },
  read: (state?: StatePass) => Promise<readonly LogEntry[]>,
): Promise<LogTrace | undefined> {
  const { account, settings } = about;
  const found = await messageFromLog(account, read);
  if (found === undefined) return undefined;
  const { message, entryMode } = found;
  const isOpen = message.end === undefined;
  const made = deliverySpans(
    message,
    {
      attempts: message.attempts.map((_attempt, index) => index),
      root: isOpen ? 'open' : 'whole',
      isBare: entryMode === 'snapshot',
    },
    { producer: settings.producer, maxOpenMs: WHOLE_MS, failedRun: () => undefined },
  );
  if (made === undefined) return undefined;
  const isSent = tellingOf(message, settings, { isLeftOpen: false, isBare: entryMode === 'snapshot' }) !== undefined;
  return { spans: made.spans, isOpen, isSent };
}

async function readStated(read: (state?: StatePass) => Promise<readonly LogEntry[]>): Promise<readonly StatedEntry[]> {
  const entries = await read();
  if (entries.every((entry): entry is StatedEntry => entry.state !== undefined)) return entries;
  const passes = new Map<StatePass, readonly LogEntry[]>();
  for (const state of STATE_PASSES) passes.set(state, await read(state));
  return assignStates(entries, passes);
}
