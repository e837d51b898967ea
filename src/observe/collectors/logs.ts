/**
 * Collects the message log window by window: `[watermark, now − lag]`, both borders inclusive. A window is aggregated only
 * after it was read completely. Its counts, its keys and the new watermark are one commit. After any failure in
 * between, the next run reads the same window again. No entry is lost or counted twice. Every `sweep.every`, a sweep
 * reads earlier parts of the log again for late entries. It starts before the last sweep by the maximum lateness of
 * entries, so that each late entry is found.
 *
 * `now` is the earlier of our clock and the service's clock (its `Date` header, if it sends one). The service dates the
 * entries. If our clock were ahead, the watermark would pass moments that have not happened there. Without a `Date`
 * header, only entries prove the service's time. Sweeps reach back to the newest of those entries, and counted entries
 * are recognized back to that time. A watermark that is ahead of our clock is reset to it. No entry is lost or counted
 * twice.
 */
import type { MessageApi } from '#service/api.ts';
import { formatDuration } from '#foundation/domain/duration.ts';
import { MESSAGE_STATES } from '#foundation/domain/log-entry.ts';
import type { InFlightMessages, LogProgress } from '#foundation/domain/observation.ts';
import { READER_COUNTERS } from '../aggregation/log-counts.ts';
import {
  surelyCounted,
  type LogCommit,
  type LogAggregationState,
  type LogAggregationStore,
  type LogMemory,
  type OpenMessage,
} from '../aggregation/log-store.ts';
import type { MessageProgress } from '../aggregation/message-trace.ts';
import { parseRecord } from '../aggregation/open-message.ts';
import { progressOfRecord } from '../aggregation/progress.ts';
import type { Increment } from '../aggregation/totals.ts';
import { collectorOf, type Collected } from './collector.ts';
import type { PageBudget } from './listing.ts';
import { Pace } from './log-pace.ts';
import { walkLog, type Walk, type Walked } from './log-walk.ts';
import { PAGE_SIZE, readWindow, type LogContext, type WindowRead } from './log-window.ts';
import { readAgainMs, timing } from './settings.ts';

/** Maximum number of messages abandoned in one commit. The next commit continues. */
const EXPIRED_AT_ONCE = 1_000;
/** Maximum number of open messages. Above it, those that expire first are abandoned. */
const MOST_OPEN = 100_000;
/** Tolerated clock offset that does not fail a run. */
const CLOCK_GRACE_MS = 60_000;
/** Maximum share of a run's pages for one window, and its minimum in pages. */
const WINDOWS_OF_A_RUN = 8;
const FEWEST_PAGES = 4;

export const logs = collectorOf({
  name: 'logs',
  api: 'message',
  async collect(api, context) {
    const { account } = context.target;
    const { log } = context.stores;
    const state = await log.loadLogState(account);
    if (state.watermark === undefined) return { rows: [await begin(api, context)], dropped: 0 };
    const { watermark, keptFrom = 0 } = state;
    const known = { state: { ...state, watermark, keptFrom }, memory: await log.memory(account) };
    return new Run(api, context, known).collect();
  },
});

/** Starts counting now: history is not a spike. */
async function begin(api: MessageApi, context: LogContext): Promise<LogProgress> {
  const now = context.clock.now();
  // Requests at most one entry and ignores it. Only the date of the response is needed.
  const { servedAt = now } = await api.listLogs({ fromDate: now, toDate: now, count: 1 }, { signal: context.signal });
  const watermark = Math.min(now, servedAt) - context.target.settings.logs.lag;
  const zero = (metric: Increment['metric'], labels: readonly string[] = []): Increment => ({ metric, labels, by: 0 });
  await context.stores.log.commitLog({
    account: context.target.account,
    watermark,
    keptFrom: watermark,
    provenAt: watermark,
    sweptAt: now,
    increments: [
      ...MESSAGE_STATES.map((state) => zero('msgsvc_log_events_total', [state])),
      ...READER_COUNTERS.map((metric) => zero(metric)),
    ],
  });
  context.onWatermark?.(watermark);
  return { watermark };
}

type CountedState = LogAggregationState & { readonly watermark: number; readonly keptFrom: number };

/** Section of the log to walk through. */
interface Stretch extends Pick<Walk, 'from' | 'end' | 'reserve'> {
  readonly isSweep: boolean;
  /** Share of the run's timeout after which no window is started. */
  readonly untilShare: number;
}

interface CountedWalk extends Walked {
  readonly hasAdvanced: boolean;
}

class Run {
  readonly #api: MessageApi;
  readonly #context: LogContext;
  readonly #budget: PageBudget;
  readonly #pace: Pace;
  readonly #startedAt: number;
  readonly #memory: LogMemory;
  #state: CountedState;
  #countedPages = 0;
  #dropped = 0;
  /** True if the entry mode could not be learned in this run. No further attempt is made. */
  #isFormUnknown = false;

  constructor(
    api: MessageApi,
    context: LogContext,
    { state, memory }: { readonly state: CountedState; readonly memory: LogMemory },
  ) {
    const { settings } = context.target;
    const { pageBudget } = settings.logs;
    this.#api = api;
    this.#context = context;
    this.#state = state;
    this.#memory = memory;
    this.#startedAt = context.clock.monotonic();
    this.#budget = { left: pageBudget, spent: 0 };
    const pages = Math.min(pageBudget, Math.max(FEWEST_PAGES, Math.floor(pageBudget / WINDOWS_OF_A_RUN)));
    this.#pace = new Pace({ pages, ms: timing('logs', settings).timeoutMs / 4 }, state.windowMs);
  }

  async collect(): Promise<Collected<'logs'>> {
    const { clock, target, onWatermark } = this.#context;
    const now = clock.now();
    onWatermark?.(this.#state.watermark);
    if (this.#state.watermark > now) await this.#setBack(now);
    // The sweep precedes the watermark: after an outage, the watermark moves beyond the range of recognized entries.
    const swept = await this.#sweep(now);
    const counted = await this.#walk({
      isSweep: false,
      from: this.#state.watermark,
      end: now - target.settings.logs.lag,
      reserve: 0,
      untilShare: 1 / 2,
    });
    for (const walked of [counted, swept]) {
      if (walked?.error !== undefined && !walked.hasAdvanced) throw walked.error;
    }
    const { watermark, entryMode } = this.#state;
    const row: LogProgress = {
      watermark,
      ...(entryMode !== undefined && { entryMode }),
      ...(entryMode !== 'snapshot' && { inFlight: inFlightOf(this.#memory, watermark) }),
    };
    return { rows: [row], dropped: this.#dropped };
  }

  /**
   * Resets a watermark that is ahead of our clock to the last moment that the service has certainly reached. Counted
   * entries after that moment are recognized.
   *
   * @throws {Error} if the service itself has reached the watermark: its entries and our clock contradict each other
   */
  async #setBack(now: number): Promise<void> {
    const { watermark, keptFrom, sweep: _overtaken, ...state } = this.#state;
    const { account, settings } = this.#context.target;
    // If nothing was counted yet, counting starts again.
    const isEmpty = state.provenAt === keptFrom;
    const to = Math.min(surelyCounted(this.#state), isEmpty ? now - settings.logs.lag : Infinity);
    if (to < watermark) {
      this.#state = { ...state, watermark: to, provenAt: to, keptFrom: Math.min(keptFrom, to) };
      await this.#save({ increments: [{ metric: 'opsd_log_watermark_resets_total', labels: [], by: 1 }] });
      this.#context.onSetBack?.(watermark, to);
    }
    if (to <= now + CLOCK_GRACE_MS) return;
    const when = new Date(to).toISOString();
    throw new Error(
      `log of account ${account}: entries are counted up to ${when}, which is ${formatDuration(to - now)} ahead of the local clock, and counting waits until then; check the clock of this machine and the Date header of the service`,
    );
  }

  /** Searches for late entries when a sweep is due. The next run continues an unfinished sweep. */
  async #sweep(now: number): Promise<CountedWalk | undefined> {
    const { watermark: end, keptFrom, sweptAt = 0, sweep: begun } = this.#state;
    const { every, reach } = this.#context.target.settings.logs.sweep;
    // A sweep in the future was recorded when the clock was ahead.
    if (begun === undefined && sweptAt <= now && now - sweptAt < every) return undefined;
    // Entries that arrived since the last sweep may be older than it by the reach.
    const passedMs = sweptAt > now ? Infinity : now - sweptAt;
    const sweep = begun ?? { at: surelyCounted(this.#state) - reach - passedMs, end, since: now };
    const from = Math.max(keptFrom, sweep.at);
    this.#state = { ...this.#state, sweep: { ...sweep, at: from } };
    const reserve = this.#context.target.settings.logs.pageBudget / 2;
    const walked = await this.#walk({ isSweep: true, from, end: sweep.end, reserve, untilShare: 1 / 4 });
    if (walked.isDone) {
      const { sweep: _done, ...state } = this.#state;
      this.#state = { ...state, sweptAt: sweep.since };
      await this.#commitReading();
    }
    return walked;
  }

  async #walk({ isSweep, from, end, reserve, untilShare }: Stretch): Promise<CountedWalk> {
    const { timeoutMs } = timing('logs', this.#context.target.settings);
    const walked = await walkLog(this.#context, {
      from,
      end,
      reserve,
      pace: this.#pace,
      budget: this.#budget,
      until: this.#startedAt + timeoutMs * untilShare,
      read: (span, { signal, isLimited }) =>
        readWindow(this.#api, { ...this.#context, signal }, span, {
          budget: this.#budget,
          limits: isLimited ? this.#pace.limits : undefined,
          isSweep,
          known: this.#memory,
        }),
      beforeCommit: (read) => this.#learnForm(read, isSweep),
      commit: (read) => this.#commit(read, isSweep),
      onBroken: () => this.#commitReading([{ metric: 'opsd_log_windows_halved_total', labels: [], by: 1 }]),
    });
    return { ...walked, hasAdvanced: walked.at > from };
  }

  /**
   * Learns the entry mode: the entries of a delivered message show if the log has its creation, too. After a failure
   * the mode stays unknown.
   */
  async #learnForm({ aggregation: { delivered: messageId } }: WindowRead, isSweep: boolean): Promise<void> {
    const { entryMode } = this.#state;
    if (messageId === undefined || this.#isFormUnknown) return;
    if (entryMode === 'transitions' || (entryMode === 'snapshot' && !isSweep)) return;
    const { signal } = this.#context;
    try {
      const { value } = await this.#api.listLogs({ messageId, count: PAGE_SIZE }, { signal });
      // The response may list an entry twice.
      const told = new Set(
        value.filter((entry) => entry.messageId === messageId).map(({ time, state = '' }) => `${time} ${state}`),
      );
      if (told.size > 0) this.#state = { ...this.#state, entryMode: told.size > 1 ? 'transitions' : 'snapshot' };
    } catch {
      signal.throwIfAborted();
      this.#isFormUnknown = true;
    }
  }

  async #commit({ aggregation, to, provenAt }: WindowRead, isSweep: boolean): Promise<void> {
    const store = this.#context.stores.log;
    const { account, settings } = this.#context.target;
    const before = this.#state;
    const { entryMode } = before;
    const watermark = isSweep ? before.watermark : to;
    const sweep = before.sweep && { ...before.sweep, ...(isSweep && { at: to }) };
    // A running sweep must recognize the entries that it has yet to read, and the messages that they belong to.
    const proven = { provenAt: Math.max(provenAt, before.provenAt ?? -Infinity) };
    const surely = surelyCounted({ watermark, ...proven });
    // The next sweep must recognize what has arrived since this one began: an outage may lie between them.
    const next = (sweep?.since ?? before.sweptAt ?? Infinity) - settings.logs.sweep.reach - CLOCK_GRACE_MS;
    const kept = Math.min(surely - readAgainMs(settings), sweep?.at ?? Infinity, next);
    this.#state = {
      ...before,
      ...proven,
      watermark,
      keptFrom: Math.max(before.keptFrom, kept),
      ...(sweep !== undefined && { sweep }),
    };
    const { open, leftOpen } = this.#memory;
    const excess = open.size - MOST_OPEN;
    const expired = await (excess > 0
      ? store.expired(account, Infinity, excess)
      : store.expired(account, kept + readAgainMs(settings), EXPIRED_AT_ONCE));
    const records = await store.openRecords(account, aggregation.open());
    const { progress, attempts, failures, resumeEnds, ...added } = aggregation.finish(records, { entryMode, expired });
    const { opened, closed } = added;
    const facts = { account, from: before.watermark, watermark, entryMode, open, leftOpen, opened, closed };
    const { lines: linesOf, spans: source } = this.#context;
    const due = source === undefined ? [] : await openProgress(store, account, source.due(facts), opened);
    const news = linesOf === undefined && source === undefined ? [] : progress();
    const failedRuns = (await source?.failedRuns(account, [...news, ...due])) ?? new Map();
    // Nothing is awaited between the making of the spans and their commit.
    const spans = source?.make(facts, { progress: news, due, failedRuns });
    const lines = linesOf?.(news);
    await this.#save({
      ...added,
      attempts: { from: before.watermark, attempts },
      ...(spans !== undefined && { spans }),
      ...(lines !== undefined && { lines }),
      increments: [...added.increments, ...this.#ownIncrements()],
    });
    this.#context.onAttempts?.({ from: before.watermark, watermark, attempts, failures, resumeEnds });
    this.#dropped += aggregation.invalid;
  }

  /** Commits the pages read, and the state, without entries. */
  #commitReading(further: readonly Increment[] = []): Promise<void> {
    return this.#save({ increments: [...this.#ownIncrements(), ...further] });
  }

  /** Commits the state with the given additions. The state includes the pace, so that a restart knows it. */
  async #save(added: Omit<LogCommit, 'account' | keyof LogAggregationState>): Promise<void> {
    const { stores, target, onWatermark } = this.#context;
    const { widthMs } = this.#pace;
    this.#state = { ...this.#state, ...(Number.isFinite(widthMs) && { windowMs: widthMs }) };
    await stores.log.commitLog({ ...added, ...this.#state, account: target.account });
    onWatermark?.(this.#state.watermark);
  }

  #ownIncrements(): Increment[] {
    const pages = this.#budget.spent - this.#countedPages;
    this.#countedPages += pages;
    return pages > 0 ? [{ metric: 'opsd_log_pages_total', labels: [], by: pages }] : [];
  }
}

/**
 * Returns the facts about open messages: from the commit if it opens them, else from the store.
 */
// oxlint-disable-next-line max-params -- a look-up and its three keys
async function openProgress(
  store: LogAggregationStore,
  account: string,
  messageIds: readonly string[],
  opened: readonly OpenMessage[],
): Promise<MessageProgress[]> {
  if (messageIds.length === 0) return [];
  const stored = await store.openRecords(account, messageIds);
  const records = new Map([...stored, ...opened.map(({ messageId, record }) => [messageId, record] as const)]);
  return messageIds.flatMap((messageId) => {
    const record = records.get(messageId);
    return record === undefined ? [] : [progressOfRecord(account, messageId, parseRecord(record))];
  });
}

/** Returns the messages in flight by destination, with the due time of the longest overdue message. */
function inFlightOf({ open }: LogMemory, at: number): readonly InFlightMessages[] {
  const byDestination = new Map<string, { messages: number; oldestDueAt: number }>();
  for (const { destination, dueAt } of open.values()) {
    if (dueAt === undefined) continue;
    let known = byDestination.get(destination);
    if (known === undefined) byDestination.set(destination, (known = { messages: 0, oldestDueAt: Infinity }));
    known.messages += 1;
    if (dueAt <= at && dueAt < known.oldestDueAt) known.oldestDueAt = dueAt;
  }
  return [...byDestination].map(([destination, { messages, oldestDueAt }]) => ({
    destination,
    messages,
    ...(Number.isFinite(oldestDueAt) && { oldestDueAt }),
  }));
}
