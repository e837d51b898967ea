/**
 * Aggregates one complete window of the message log: the increments of the totals, the state to store, and the news about
 * each message. Entries can arrive page by page, in any order, and repeatedly. `finish` makes all decisions, and the
 * same entries give the same result.
 *
 * An end is DELIVERED, CANCELLED, or a final failure. A final failure is FAILED, or an ERROR that has no next delivery
 * and no later entry. A message has exactly one end, whichever entries report it and whether they are in one window or
 * two.
 */
import { CANARY_LABEL, isCanaryUrl } from '#foundation/domain/canary.ts';
import type { EndedAttempts, ResumedMessage, ResumeEnd } from '#foundation/domain/ended-attempts.ts';
import { newestStamp } from '#foundation/domain/lineage.ts';
import { type InvalidLogRow, type LogEntry, type MessageState } from '#foundation/domain/log-entry.ts';
import { AttemptsByHost } from './ended-attempts.ts';
import { emptyKey, KeySlices, setEntryKey, setTextKey, type Key } from './keys.ts';
import { LogCounts, type Admit } from './log-counts.ts';
import { rankOf, type StatedEntry } from './log-entry.ts';
import {
  HOUR_MS,
  type ExpiredMessage,
  type LogCommit,
  type EntryMode,
  type LogMemory,
  type OpenMessage,
} from './log-store.ts';
import { aggregateMessage, unjoinedOf, type MessageAggregate } from './message-aggregation.ts';
import type { MessageDescription, MessageProgress } from './message-trace.ts';
import {
  describeMessage,
  dueAfter,
  formatRecord,
  isOutcome,
  parseRecord,
  stepOf,
  storableDescription,
  type Described,
  type MessageRecord,
  type MessageStep,
} from './open-message.ts';
import { messageProgress } from './progress.ts';

/** Time after a message's newest entry, or after its due time, when the message is abandoned. */
export const ABANDON_AFTER_MS = 24 * HOUR_MS;
const READ_AGAIN_MS = 20 * 60_000;

/** Entry field to count by, in addition to the destination. */
type LogDimension = 'topicName' | 'queueName' | 'scheduleId' | 'label';

export interface LogWindow {
  readonly account: string;
  /** Start of the window and end of the previous one, both inclusive: entries of this moment are read twice. */
  readonly from: number;
  readonly memory: LogMemory;
  readonly admit: Admit;
  /** True if the window was read before. New entries in it are late. */
  readonly isSweep?: boolean;
  readonly dimension?: LogDimension | undefined;
  /**
   * Period that later reads cover again. The missing entries of an ended message are awaited for this long. Default: 20
   * min.
   */
  readonly readAgainMs?: number;
}

export interface FinishOptions {
  /** Undefined is treated as transitions. */
  readonly entryMode?: EntryMode | undefined;
  /** Open messages that this commit abandons. */
  readonly expired?: readonly ExpiredMessage[];
}

export interface LogAggregate extends Required<
  Pick<LogCommit, 'increments' | 'histograms' | 'minutes' | 'seen' | 'ended' | 'opened' | 'closed'>
> {
  readonly attempts: readonly EndedAttempts[];
  readonly failures: readonly LogEntry[];
  readonly resumeEnds: readonly ResumeEnd[];
  /** Returns the news about each message that has new entries. Computed on each call. */
  readonly progress: () => MessageProgress[];
}

/** New entries of one message. */
interface Group {
  readonly key: Key;
  readonly steps: MessageStep[];
  readonly described: Described;
  target: string | undefined;
  readonly targetKey: Key;
  /** End without its own response. It is an attempt if no ERROR reported that attempt. */
  failed: StatedEntry | undefined;
  /** Resume that the message belongs to. Entries that report an attempt have the labels. */
  resumed: ResumedMessage | undefined;
  /** True for a message of a canary, or its callback. */
  isCanary: boolean;
}

interface Finished {
  readonly opened: OpenMessage[];
  readonly closed: string[];
  readonly resumeEnds: ResumeEnd[];
  readonly touched: [messageId: string, group: Group, aggregated: MessageAggregate][];
}

interface Finishing {
  /** Record of the message, if it is open. */
  readonly stored: string | undefined;
  readonly measures: boolean;
  readonly finished: Finished;
}

export class WindowAggregation {
  readonly #window: LogWindow;
  readonly #counts: LogCounts;
  /** Counts of canaries. Of these, only the counts by state are added: canaries are not deliveries of the account. */
  readonly #canaries = new LogCounts((_label, value) => value, undefined);
  readonly #groups = new Map<string, Group>();
  readonly #seen: KeySlices;
  readonly #ended: KeySlices;
  readonly #attempts = new AttemptsByHost();
  readonly #key = emptyKey();
  /** Object that all entries share, as they share the key. */
  readonly #facts = { message: this.#key, target: this.#key, time: 0, state: 0, status: 0 };
  /** Most recently used message. Entries of one message are mostly adjacent. */
  #last: { readonly messageId: string; readonly group: Group } | undefined;
  #delivered: string | undefined;
  #repeated = 0;
  #fresh = 0;
  #invalid = 0;

  constructor(window: LogWindow) {
    this.#window = window;
    this.#counts = new LogCounts(window.admit, window.dimension);
    this.#seen = new KeySlices(window.memory.seen.sliceMs);
    this.#ended = new KeySlices(window.memory.ended.sliceMs);
  }

  /** Returns a message that was delivered in this window. */
  get delivered(): string | undefined {
    return this.#delivered;
  }

  /** Returns the number of invalid rows that were not counted before. */
  get invalid(): number {
    return this.#invalid;
  }

  /**
   * Counts an invalid row. A row can arrive again.
   *
   * @param latest latest possible time of the entry, if its time could not be parsed
   */
  refuse({ identity, time }: InvalidLogRow, latest: number): void {
    const key = emptyKey();
    setTextKey(key, identity);
    const { seen } = this.#window.memory;
    const isKnown = time === undefined ? seen.hasAnywhere(key) : seen.has(time, key);
    if (!isKnown && this.#seen.add(time ?? latest, key)) this.#invalid += 1;
  }

  /** Counts invalid rows that have nothing to recognize them by. */
  refuseUnknown(rows: number): void {
    // A sweep reads rows again, and most of them are already counted.
    if (this.#window.isSweep !== true) this.#invalid += rows;
  }

  /** Adds an entry. An entry can arrive again, and in any order. */
  take(entry: StatedEntry): void {
    const { memory, from, isSweep } = this.#window;
    const { time, state, messageId } = entry;
    if (state === 'DELIVERED') this.#delivered = messageId;
    const group = this.#groupOf(messageId);
    // Without a URL, entries of a URL Group's message differ by endpoint.
    const target = entry.url ?? entry.endpointName ?? '';
    if (target !== group.target) {
      group.target = target;
      setTextKey(group.targetKey, target);
    }
    const key = this.#key;
    const facts = this.#facts;
    facts.message = group.key;
    facts.target = group.targetKey;
    facts.time = time;
    facts.state = rankOf(state);
    facts.status = entry.responseStatus ?? 0;
    setEntryKey(key, facts);
    if (memory.seen.has(time, key)) {
      if (isSweep !== true && time !== from) this.#repeated += 1;
      return;
    }
    if (!this.#seen.add(time, key)) {
      this.#repeated += 1;
      return;
    }
    this.#fresh += 1;
    group.isCanary ||= isOfCanary(entry);
    if (!group.isCanary) {
      this.#countValue(entry);
      if (isOutcome(state)) this.#attempts.add(entry);
      else if (state === 'FAILED') {
        group.failed = entry;
        this.#attempts.addLost(entry);
      }
    }
    if (isOutcome(state) || state === 'FAILED') group.resumed = resumedOf(entry) ?? group.resumed;
    group.steps.push(stepOf(entry));
    describeMessage(group.described, entry);
  }

  /** Returns the messages of the window that are open. `finish` needs their records. */
  open(): string[] {
    const { open } = this.#window.memory;
    return [...this.#groups.keys()].filter((messageId) => open.has(messageId));
  }

  /** @param records records of the messages that `open` returned, by id */
  finish(records: ReadonlyMap<string, string>, { entryMode, expired = [] }: FinishOptions = {}): LogAggregate {
    const { account, isSweep = false } = this.#window;
    const measures = entryMode !== 'snapshot';
    const counts = this.#counts;
    counts.add('opsd_log_duplicate_entries_total', this.#repeated);
    counts.add('opsd_log_invalid_entries_total', this.#invalid);
    if (isSweep) counts.add('opsd_log_late_entries_total', this.#fresh);
    const finished: Finished = { opened: [], closed: [], resumeEnds: [], touched: [] };
    for (const [messageId, group] of this.#groups) {
      if (group.steps.length > 0)
        this.#finishMessage(messageId, group, { stored: records.get(messageId), measures, finished });
    }
    const { opened, closed, resumeEnds, touched } = finished;
    for (const { messageId, record } of expired) {
      if (this.#groups.get(messageId)?.steps.length) continue;
      closed.push(messageId);
      this.#abandon(parseRecord(record), measures);
    }
    counts.addCanaries(this.#canaries);
    return {
      increments: counts.increments(),
      histograms: counts.histograms(),
      minutes: counts.minutes.all(),
      seen: this.#seen,
      ended: this.#ended,
      opened,
      closed,
      attempts: this.#attempts.all(),
      failures: this.#attempts.failures.newest(),
      resumeEnds,
      progress: () =>
        touched.map(([messageId, { steps: fresh, described: said }, aggregated]) => {
          const described = storableDescription(aggregated.record.described, said);
          return messageProgress({ account, messageId, aggregated, fresh, described });
        }),
    };
  }

  #groupOf(messageId: string): Group {
    if (this.#last?.messageId === messageId) return this.#last.group;
    let group = this.#groups.get(messageId);
    if (group === undefined) {
      group = {
        key: emptyKey(),
        steps: [],
        described: {},
        target: undefined,
        targetKey: emptyKey(),
        failed: undefined,
        resumed: undefined,
        isCanary: false,
      };
      setTextKey(group.key, messageId);
      this.#groups.set(messageId, group);
    }
    this.#last = { messageId, group };
    return group;
  }

  /** Decides what the new entries of a message say. */
  #finishMessage(messageId: string, group: Group, { stored, measures, finished }: Finishing): void {
    const { key, steps: fresh, described, isCanary } = group;
    const before = stored === undefined ? undefined : parseRecord(stored);
    const isPast = before === undefined && this.#window.memory.ended.hasAnywhere(key);
    const counts = isCanary ? this.#canaries : this.#counts;
    const aggregated = aggregateMessage({ messageId, before, isPast, fresh, described, counts, measures });
    finished.touched.push([messageId, group, aggregated]);
    const { end, steps } = aggregated.record;
    if (aggregated.endedNow && group.resumed !== undefined && (end === 'failed' || end === 'delivered')) {
      finished.resumeEnds.push({ ...group.resumed, end });
    }
    const isTold = aggregated.isPast || steps.some(({ state }) => state === 'ERROR');
    if (group.failed !== undefined && !isTold) this.#attempts.add(group.failed);
    // In the mode with one entry per message, only the fact that it ended is kept.
    if (aggregated.isComplete || (!measures && end !== undefined)) {
      this.#ended.add(steps.at(-1)!.time, key);
      if (before !== undefined) finished.closed.push(messageId);
      return;
    }
    const waitMs = this.#window.readAgainMs ?? READ_AGAIN_MS;
    const open = openMessage(messageId, aggregated, { said: described, waitMs });
    finished.opened.push(isCanary ? withoutDue(open) : open);
  }

  #abandon(record: MessageRecord, measures: boolean): void {
    if (record.end === undefined) this.#counts.add('opsd_messages_abandoned_total', 1);
    if (!measures) return;
    const { deliveries, attempts } = unjoinedOf(record);
    this.#counts.add('opsd_log_unjoined_deliveries_total', deliveries);
    this.#counts.add('opsd_log_unjoined_attempts_total', attempts);
  }

  #countValue(entry: LogEntry & { readonly state: MessageState }): void {
    const { dimension } = this.#window;
    if (dimension === undefined) return;
    if (dimension === 'label') for (const label of entry.labels) this.#counts.addValue(label, entry.state);
    else if (entry[dimension] !== undefined) this.#counts.addValue(entry[dimension], entry.state);
  }
}

/** Returns the resume whose stamp an entry has, if any. */
function resumedOf({ labels, url }: LogEntry): ResumedMessage | undefined {
  const stamp = newestStamp(labels);
  return stamp === undefined || url === undefined ? undefined : { ...stamp, url };
}

/** Returns the message as one that is not in flight. */
function withoutDue({ dueAt: _dueAt, createdAt: _createdAt, ...open }: OpenMessage): OpenMessage {
  return open;
}

function openMessage(
  messageId: string,
  { destination, record: aggregated }: MessageAggregate,
  { said, waitMs }: { readonly said: MessageDescription; readonly waitMs: number },
): OpenMessage {
  const record = { ...aggregated, described: storableDescription(aggregated.described, said) };
  const last = record.steps.at(-1)!;
  const dueAt = dueOf(record);
  const created = record.steps.find(({ state }) => state === 'CREATED');
  return {
    messageId,
    expires: record.end === undefined ? Math.max(last.time, dueAt) + ABANDON_AFTER_MS : last.time + waitMs,
    destination,
    ...(record.end === undefined && { dueAt, ...(created !== undefined && { createdAt: created.time }) }),
    record: formatRecord(record),
  };
}

/** Returns the time when the next or current attempt is or was due. */
function dueOf({ steps }: MessageRecord): number {
  const step = steps.findLast(({ state, nextDeliveryTime }) => state === 'CREATED' || nextDeliveryTime !== undefined);
  return step === undefined ? steps[0]!.time : dueAfter(step);
}

/** Returns true for canaries of any daemon: a second one may observe the account. */
function isOfCanary({ labels, url }: StatedEntry): boolean {
  return labels.includes(CANARY_LABEL) || (url !== undefined && isCanaryUrl(url));
}
