/**
 * Reads one window of the message log into an aggregation: all pages, each entry with its state. The result counts only after
 * the window was read completely and committed.
 */
import type { LogPage, LogQuery, MessageApi } from '#service/api.ts';
import { serviceErrorCode } from '#foundation/domain/service-error.ts';
import { TimeoutError } from '#foundation/platform/sleep.ts';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import {
  assignStates,
  STATE_PASSES,
  statelessKey,
  type StatedEntry,
  type StatePass,
} from '../aggregation/log-entry.ts';
import { WindowAggregation } from '../aggregation/log.ts';
import type { LogMemory } from '../aggregation/log-store.ts';
import { MOST_ROW_BYTES, RowMemory } from '#foundation/platform/row-memory.ts';
import type { CollectorContext } from './collector.ts';
import { ListingError, listPages, type PageBudget } from './listing.ts';
import { AT_ONCE, type BrokenCost, type WindowCost, type WindowLimits } from './log-pace.ts';
import { readAll } from './read-all.ts';
import { readAgainMs } from './settings.ts';

export const PAGE_SIZE = 100;

export type LogContext = CollectorContext<'logs'>;

/** Time span with both borders inclusive, in epoch milliseconds. */
export interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

export interface ReadOptions {
  readonly budget: PageBudget;
  /** Absent for a window that cannot be divided. */
  readonly limits: WindowLimits | undefined;
  /** True if the window was read before. New entries in it are late. */
  readonly isSweep: boolean;
  readonly known: LogMemory;
}

/** Window that was read completely. */
export interface WindowRead extends WindowCost {
  /** End of the complete part. Earlier than requested if the service's clock is behind ours. */
  readonly to: number;
  readonly aggregation: WindowAggregation;
  /** Latest moment of the window that the service has certainly reached, proven by its `Date` header or an entry. */
  readonly provenAt: number;
}

/** Window that was not read completely. None of it is counted. */
export interface WindowBroken extends BrokenCost {
  readonly error: unknown;
  /** Moment of more than half of the entries received, if there is one. */
  readonly burstAt: number | undefined;
}

/** Reads all entries of a window. Never rejects. */
export async function readWindow(
  api: MessageApi,
  context: LogContext,
  span: TimeSpan,
  { budget, limits, isSweep, known }: ReadOptions,
): Promise<WindowRead | WindowBroken> {
  const { account, settings } = context.target;
  const aggregation = new WindowAggregation({
    account,
    from: span.from,
    memory: known,
    admit: (label, value, amount) => context.admit(label, value, amount),
    isSweep,
    dimension: settings.logs.dimension,
    readAgainMs: readAgainMs(settings),
  });
  const memory = new RowMemory(MOST_ROW_BYTES / AT_ONCE);
  const reader = new Reader({ api, context, budget, memory, limits }, span);
  try {
    const to = await readSpan(reader, aggregation, context.signal);
    return { ...reader.cost(), to, aggregation, provenAt: reader.isDated ? to : reader.latest };
  } catch (error) {
    const isFull = error instanceof ListingError && error.code === 'budget';
    const isTimeout = error instanceof TimeoutError || serviceErrorCode(error) === 'timeout';
    return { ...reader.cost(), error, coveredMs: reader.coveredMs, burstAt: reader.burstAt, isFull, isTimeout };
  }
}

/** Adds the entries of a span to the aggregation, each with its state. Returns the end of the complete part. */
async function readSpan(reader: Reader, aggregation: WindowAggregation, signal: AbortSignal): Promise<number> {
  const stateless: LogEntry[] = [];
  let stated = 0;
  let to: number | undefined;
  await reader.pass(undefined, signal, (entries, servedTo, { dropped, invalid = [] }) => {
    to ??= servedTo;
    const end = to;
    for (const row of invalid) {
      if ((row.time ?? end) <= end && (row.time ?? end) >= reader.span.from) aggregation.refuse(row, reader.span.to);
    }
    aggregation.refuseUnknown(dropped - invalid.length);
    for (const entry of entries) {
      if (entry.time > end) continue;
      if (!hasState(entry)) stateless.push(entry);
      else {
        stated += 1;
        aggregation.take(entry);
      }
    }
  });
  const end = to ?? reader.span.to;
  if (stated > 0)
    for (const entry of stateless) aggregation.refuse({ time: entry.time, identity: statelessKey(entry) }, end);
  if (stated > 0 || stateless.length === 0) return end;
  const passes = await readAll(
    signal,
    STATE_PASSES.map((state) => async (passSignal: AbortSignal) => {
      const found: LogEntry[] = [];
      await reader.pass(state, passSignal, (entries) => void found.push(...entries));
      return [state, found] as const;
    }),
  );
  for (const entry of assignStates(stateless, new Map(passes))) if (entry.time <= end) aggregation.take(entry);
  return end;
}

function hasState(entry: LogEntry): entry is StatedEntry {
  return entry.state !== undefined;
}

/** Dependencies of reading a window. */
interface WindowReading extends Pick<ReadOptions, 'budget' | 'limits'> {
  readonly api: MessageApi;
  readonly context: LogContext;
  readonly memory: RowMemory;
}

class Reader {
  readonly #reading: WindowReading;
  readonly #startedAt: number;
  #earliest = Infinity;
  #longest = 1;
  #entries = 0;
  /** Candidate for the moment of most entries: other entries take one vote each. */
  readonly #burst = { at: 0, votes: 0 };
  readonly span: TimeSpan;
  /** Epoch milliseconds of the newest entry received. */
  latest = -Infinity;
  /** True if responses have a `Date` header. */
  isDated = false;
  /** Number of pages received, over all listings. */
  pages = 0;

  constructor(reading: WindowReading, span: TimeSpan) {
    this.#reading = reading;
    this.span = span;
    this.#startedAt = reading.context.clock.monotonic();
  }

  get burstAt(): number | undefined {
    return this.#burst.votes * 2 > this.#entries ? this.#burst.at : undefined;
  }

  get coveredMs(): number {
    return Math.max(0, this.latest - this.#earliest);
  }

  cost(): WindowCost {
    const { from, to } = this.span;
    const tookMs = this.#reading.context.clock.monotonic() - this.#startedAt;
    return { widthMs: to - from + 1, pages: this.pages, longest: this.#longest, tookMs };
  }

  /** Returns true if a listing has reached the limits of the window. Its first page is always requested. */
  #isFull(pages: number): boolean {
    if (this.#reading.limits === undefined || pages === 0) return false;
    return (
      pages >= this.#reading.limits.pages ||
      this.#reading.context.clock.monotonic() - this.#startedAt >= this.#reading.limits.ms
    );
  }

  /** @param take receives the entries of each page, and the end of the complete part of the response */
  async pass(
    state: StatePass | undefined,
    signal: AbortSignal,
    take: (entries: readonly LogEntry[], servedTo: number, page: LogPage) => void,
  ): Promise<void> {
    const { from, to } = this.span;
    const { api, context, budget, memory } = this.#reading;
    const { account, settings } = context.target;
    const query: LogQuery = { fromDate: from, toDate: to, count: PAGE_SIZE, ...(state !== undefined && { state }) };
    const options = { budget, memory, isFull: (pages: number) => this.#isFull(pages) };
    const listing = listPages(`log of account ${account}`, options, (cursor) =>
      api.listLogs(cursor === undefined ? query : { ...query, cursor }, { signal }),
    );
    let pages = 0;
    for await (const page of listing) {
      pages += 1;
      this.pages += 1;
      this.#longest = Math.max(this.#longest, pages);
      if (page.servedAt !== undefined) this.isDated = true;
      const within: LogEntry[] = [];
      for (const entry of page.value) {
        const { time } = entry;
        // The service may have ignored the filter. Entries outside the window belong to another one.
        if (time < from || time > to) continue;
        if (time < this.#earliest) this.#earliest = time;
        if (time > this.latest) this.latest = time;
        within.push(entry);
        this.#vote(time);
        if (entry.flowControlKey !== undefined) this.#saw(entry.flowControlKey);
      }
      // If the service's clock is behind ours, only entries that are certainly past there count.
      take(within, Math.min(to, (page.servedAt ?? Infinity) - settings.logs.lag), page);
    }
  }

  #vote(time: number): void {
    this.#entries += 1;
    if (this.#burst.votes === 0) this.#burst.at = time;
    this.#burst.votes += this.#burst.at === time ? 1 : -1;
  }

  #saw(flowControlKey: string): void {
    const { clock, stores, target } = this.#reading.context;
    stores.flowControl.memory(target.account).seen.add(flowControlKey, clock.monotonic());
  }
}
