/**
 * The message log, window by window: `[watermark, now − lag]`, both borders inclusive. A window is folded only when it
 * was read to the end, and its counts, keys and the new watermark are one commit: whatever happens in between, the
 * next run reads the same window again and nothing is lost or counted twice. Every `sweep.every` what was read is swept
 * for entries that came late: from so long before the last sweep as entries may be late, so that each is met once it
 * is there.
 *
 * `now` is the earlier of our clock and the service's (its `Date` header, where it sends one). Entries are dated by
 * the service: if our clock went ahead of it, the watermark would pass moments that are yet to come there.
 */
import type { MessageApi } from '../client/api.ts';
import { MESSAGE_STATES } from '../domain/log-entry.ts';
import type { InFlightMessages, LogProgress } from '../domain/observation.ts';
import { READER_COUNTERS } from '../folds/log-counts.ts';
import type { LogFoldState, LogFoldStore, LogMemory, OpenMessage } from '../folds/log-store.ts';
import type { MessageProgress } from '../folds/message-trace.ts';
import { parseRecord } from '../folds/open-message.ts';
import { progressOfRecord } from '../folds/progress.ts';
import type { Increment } from '../folds/totals.ts';
import { apiOf, offReason, type Collected, type Collector } from './collector.ts';
import { readAgainMs } from './settings.ts';
import { ListingError, type PageBudget } from './listing.ts';
import { PAGE_SIZE, readWindow, type LogContext, type Span, type TooMuch, type WindowRead } from './log-window.ts';

/** Given up on with one commit; the rest follows with the next. */
const EXPIRED_AT_ONCE = 1_000;
/** Messages that are waited for at once; beyond it those that would be given up on first are. */
const MOST_OPEN = 100_000;
/** Windows of different times that are read at the same time, when there is much to catch up. */
const AT_ONCE = 4;
const PAGES_WORTH_SPLITTING = 8;

export const logs: Collector<'logs'> = {
  name: 'logs',
  api: 'message',
  off: (target) => offReason(target, 'logs', 'message'),
  async collect(client, context) {
    const api = apiOf(client, 'message');
    const state = context.stores.log.loadLogState(context.target.account);
    if (state.watermark === undefined) return { rows: [await begin(api, context)], dropped: 0 };
    return new Run(api, context, state).collect();
  },
};

/** Counting begins now: what was before is not a spike. */
async function begin(api: MessageApi, context: LogContext): Promise<LogProgress> {
  const now = context.clock.now();
  // One entry at most is asked for, and ignored: the answer's date is what counts.
  const { servedAt = now } = await api.listLogs({ fromDate: now, toDate: now, count: 1 }, { signal: context.signal });
  const watermark = Math.min(now, servedAt) - context.target.settings.logs.lag;
  const zero = (metric: string, labels: readonly string[] = []): Increment => ({ metric, labels, by: 0 });
  context.stores.log.commitLog({
    account: context.target.account,
    watermark,
    keptFrom: watermark,
    sweptAt: now,
    increments: [
      ...MESSAGE_STATES.map((state) => zero('msgsvc_log_events_total', [state])),
      ...READER_COUNTERS.map((metric) => zero(metric)),
    ],
  });
  context.onWatermark?.(watermark);
  return { watermark };
}

/** A walk through a span of time, window by window. */
interface Walk {
  readonly isSweep: boolean;
  readonly at: number;
  readonly end: number;
  /** Pages of the run's budget that it leaves to others. */
  readonly reserve: number;
  /** How densely entries lie there, learnt on the way: a sweep goes where there may be more of them than now. */
  readonly pace: Pace;
}

interface Pace {
  /** How wide the next window should be. */
  windowMs: number;
  /** Undefined before anything was read. */
  msPerPage: number | undefined;
}

interface Asked {
  readonly spans: readonly Span[];
  readonly read: Promise<WindowRead | TooMuch>;
}

class Run {
  readonly #api: MessageApi;
  readonly #context: LogContext;
  readonly #budget: PageBudget;
  readonly #pageBudget: number;
  #state: LogFoldState & { readonly watermark: number; readonly keptFrom: number };
  #countedPages = 0;
  /** From here on a sweep still has to read: what it will meet must be recognised. */
  #unswept = Infinity;
  #dropped = 0;

  constructor(api: MessageApi, context: LogContext, state: LogFoldState) {
    const { watermark = 0, keptFrom = 0 } = state;
    this.#api = api;
    this.#context = context;
    this.#state = { ...state, watermark, keptFrom };
    this.#pageBudget = context.target.settings.logs.pageBudget;
    this.#budget = { left: this.#pageBudget, spent: 0 };
  }

  async collect(): Promise<Collected<'logs'>> {
    const { clock, target, previous, stores } = this.#context;
    const now = clock.now();
    const end = now - target.settings.logs.lag;
    const before = previous?.rows[0];
    this.#context.onWatermark?.(this.#state.watermark);
    // Before the watermark moves: after an outage it goes further than what is recognised reaches.
    const sweep = await this.#sweep(now, before?.sweep);
    this.#unswept = sweep?.at ?? Infinity;
    const pace = this.#paceOf(before?.windowMs);
    const reserve = this.#pageBudget / 10;
    const isLate = !(await this.#walk({ isSweep: false, at: this.#state.watermark, end, pace, reserve })).isDone;
    const { watermark, form } = this.#state;
    const row: LogProgress = {
      watermark,
      ...(isLate && Number.isFinite(pace.windowMs) && { windowMs: pace.windowMs }),
      ...(sweep !== undefined && { sweep }),
      ...(form !== undefined && { form }),
      ...(form !== 'present' && { inFlight: inFlightOf(stores.log.memory(target.account), watermark) }),
    };
    return { rows: [row], dropped: this.#dropped };
  }

  /** @returns what is left of it for the next run */
  async #sweep(now: number, begun: LogProgress['sweep']): Promise<LogProgress['sweep']> {
    const { watermark, keptFrom, sweptAt = 0 } = this.#state;
    const { every, reach } = this.#context.target.settings.logs.sweep;
    // A sweep of a time to come was made under a clock that was ahead.
    if (begun === undefined && sweptAt <= now && now - sweptAt < every) return undefined;
    const { since, end } = begun ?? { since: now, end: watermark };
    // What has come since the last sweep may be of so long before it.
    const at = Math.max(keptFrom, begun?.at ?? watermark - reach - Math.max(0, now - sweptAt));
    this.#unswept = at;
    const pace = this.#paceOf(begun?.windowMs);
    const walked = await this.#walk({ isSweep: true, at, end, pace, reserve: this.#pageBudget / 2 });
    if (!walked.isDone) return { at: walked.at, end, since, windowMs: pace.windowMs };
    this.#commitReading({ sweptAt: since });
    return undefined;
  }

  #paceOf(windowMs = Infinity): Pace {
    return { windowMs, msPerPage: Number.isFinite(windowMs) ? windowMs / (this.#pageBudget / 2) : undefined };
  }

  /**
   * Reads windows until the end of the walk, or until the pages of this run are used up. The requests for the next
   * windows go out before the ones that came are folded; their answers are looked at after the commit.
   */
  async #walk(walk: Walk): Promise<{ readonly isDone: boolean; readonly at: number }> {
    const stop = new AbortController();
    const context = { ...this.#context, signal: AbortSignal.any([this.#context.signal, stop.signal]) };
    let at = walk.at;
    let asked = this.#ask(walk, context);
    try {
      while (asked !== undefined) {
        const { spans } = asked;
        const read = await asked.read;
        asked = undefined;
        if ('tooMuch' in read) {
          this.#halve(read, spans, walk.pace);
          break;
        }
        const end = spans.at(-1)!.to;
        // Of a service whose clock is behind ours there is no more to read now.
        if (read.to <= at) return { isDone: true, at };
        this.#learn(read, spans, walk);
        await this.#learnForm(read, walk);
        at = read.to;
        if (at === end) asked = this.#ask({ ...walk, at }, context);
        this.#commit(read, walk);
        if (at < end) return { isDone: true, at };
      }
    } finally {
      stop.abort(new Error('the run has ended'));
      await asked?.read.catch(() => undefined);
    }
    return { isDone: at >= walk.end, at };
  }

  /** A window, cut into spans that are read at the same time where that is worth it; they share no moment. */
  #ask(walk: Walk, context: LogContext): Asked | undefined {
    if (walk.at >= walk.end || this.#budget.left <= walk.reserve) return undefined;
    const { pace } = walk;
    const whole = Math.min(walk.end - walk.at, Math.max(1, Math.floor(pace.windowMs)));
    const pages = pace.msPerPage === undefined ? 0 : whole / pace.msPerPage;
    const step = Math.max(1, Math.ceil(whole / (pages >= PAGES_WORTH_SPLITTING ? AT_ONCE : 1)));
    const spans: Span[] = [];
    for (let from = walk.at; from < walk.at + whole; from = spans.at(-1)!.to + 1) {
      spans.push({ from, to: Math.min(from + step, walk.at + whole) });
    }
    const read = readWindow(this.#api, context, spans, { budget: this.#budget, isSweep: walk.isSweep });
    // Its failure is told when it is waited for.
    read.catch(() => undefined);
    return { spans, read };
  }

  /** The next window should need half of what is left; the next run may spend the whole budget again. */
  #learn({ to, pages }: WindowRead, spans: readonly Span[], { pace, reserve }: Walk): void {
    pace.msPerPage = (to - spans[0]!.from) / pages;
    const { left } = this.#budget;
    pace.windowMs = pace.msPerPage * ((left <= reserve ? this.#pageBudget : left) / 2);
  }

  /** A delivered message by itself shows whether the log has its creation too. */
  async #learnForm({ fold: { delivered: messageId } }: WindowRead, { isSweep }: Walk): Promise<void> {
    const { form } = this.#state;
    if (form === 'transitions' || (form === 'present' && !isSweep)) return;
    if (messageId === undefined) return;
    const { signal } = this.#context;
    const { value } = await this.#api.listLogs({ messageId, count: PAGE_SIZE }, { signal });
    // An entry may be listed twice.
    const told = new Set(
      value.filter((entry) => entry.messageId === messageId).map(({ time, state = '' }) => `${time} ${state}`),
    );
    if (told.size > 0) this.#state = { ...this.#state, form: told.size > 1 ? 'transitions' : 'present' };
  }

  #commit({ fold, to }: WindowRead, { isSweep }: Walk): void {
    const store = this.#context.stores.log;
    const { account } = this.#context.target;
    const watermark = isSweep ? this.#state.watermark : to;
    const keptFrom = Math.max(
      this.#state.keptFrom,
      Math.min(watermark - readAgainMs(this.#context.target.settings), this.#unswept),
    );
    const { form } = this.#state;
    const excess = store.memory(account).open.size - MOST_OPEN;
    const expired =
      excess > 0 ? store.expired(account, Infinity, excess) : store.expired(account, watermark, EXPIRED_AT_ONCE);
    const { progress, attempts, resumeEnds, ...added } = fold.finish((...asked) => store.openRecords(...asked), {
      form,
      expired,
    });
    const { lines: linesOf, spans: spansOf } = this.#context;
    const told = linesOf === undefined && spansOf === undefined ? [] : progress();
    const spans = spansOf?.({
      account,
      from: this.#state.watermark,
      watermark,
      form,
      progress: told,
      open: store.memory(account).open,
      opened: added.opened,
      closed: added.closed,
      progressOf: (messageIds) => openProgress(store, account, messageIds, added.opened),
    });
    const lines = linesOf?.(told);
    store.commitLog({
      account,
      ...added,
      ...(spans !== undefined && { spans }),
      ...(lines !== undefined && { lines }),
      watermark,
      keptFrom,
      ...(form !== undefined && { form }),
      increments: [...added.increments, ...this.#ownIncrements()],
    });
    this.#context.onWatermark?.(watermark);
    this.#context.onAttempts?.({ from: this.#state.watermark, watermark, attempts, resumeEnds });
    this.#state = { ...this.#state, watermark, keptFrom };
    this.#dropped += fold.refused;
  }

  #halve({ pages, coveredMs }: TooMuch, spans: readonly Span[], pace: Pace): void {
    const from = spans[0]!.from;
    const ms = spans.at(-1)!.to - from;
    if (ms <= 1 && pages === this.#pageBudget) throw tooDense(this.#context, from);
    const seeming = pages > 0 && coveredMs > 0 ? (coveredMs / pages) * (this.#pageBudget / 2) : Infinity;
    pace.windowMs = Math.min(ms / 2, seeming);
    pace.msPerPage = pace.windowMs / (this.#pageBudget / 2);
    this.#commitReading({ halved: 1 });
  }

  /** No entries were counted; that reading cost pages, and what it showed, is true all the same. */
  #commitReading({ halved = 0, sweptAt }: { readonly halved?: number; readonly sweptAt?: number }): void {
    const { watermark, keptFrom } = this.#state;
    const increments = this.#ownIncrements();
    if (halved > 0) increments.push({ metric: 'opsd_logs_windows_halved_total', labels: [], by: halved });
    this.#context.stores.log.commitLog({
      account: this.#context.target.account,
      watermark,
      keptFrom,
      ...(sweptAt !== undefined && { sweptAt }),
      increments,
    });
  }

  #ownIncrements(): Increment[] {
    const pages = this.#budget.spent - this.#countedPages;
    this.#countedPages += pages;
    const increments: Increment[] = [];
    if (pages > 0) increments.push({ metric: 'opsd_logs_pages_total', labels: [], by: pages });
    return increments;
  }
}

/** What is known of open messages: as the commit opens them, else as they were. */
// oxlint-disable-next-line max-params -- a look-up and its three keys
function openProgress(
  store: LogFoldStore,
  account: string,
  messageIds: readonly string[],
  opened: readonly OpenMessage[],
): MessageProgress[] {
  const wanted = new Set(messageIds);
  const records = new Map(store.openRecords(account, messageIds));
  for (const { messageId, record } of opened) if (wanted.has(messageId)) records.set(messageId, record);
  return [...records].map(([messageId, record]) => progressOfRecord(account, messageId, parseRecord(record)));
}

/** Messages in flight by destination, and when the oldest of those that are due became due. */
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

function tooDense({ target }: LogContext, at: number): ListingError {
  const { pageBudget } = target.settings.logs;
  const when = new Date(at).toISOString();
  return new ListingError(
    'budget',
    `log of account ${target.account}: the moment ${when} alone has more than ${pageBudget} pages; raise collectors.logs.pageBudget`,
  );
}
