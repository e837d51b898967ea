/**
 * Reading one window of the message log into a fold: every page of it, each entry with its state. What is folded here
 * counts only when the window was read to its end and committed.
 */
import type { LogPage, LogQuery, MessageApi } from '../client/api.ts';
import type { LogEntry } from '../domain/log-entry.ts';
import { assignStates, STATE_PASSES, statelessKey, type StatedEntry, type StatePass } from '../folds/log-entry.ts';
import { WindowFold } from '../folds/log.ts';
import { RowMemory } from '../platform/row-memory.ts';
import type { CollectorContext } from './collector.ts';
import { ListingError, listPages, type PageBudget } from './listing.ts';
import { readAll } from './read-all.ts';
import { readAgainMs } from './settings.ts';

export const PAGE_SIZE = 100;

export type LogContext = CollectorContext<'logs'>;

/** Both borders inclusive, epoch milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface ReadOptions {
  readonly budget: PageBudget;
  /** The window was read before: what is new came late. */
  readonly isSweep: boolean;
}

export interface WindowRead {
  /** How far the reading counts: less than was asked for, when the service's clock is behind ours. */
  readonly to: number;
  readonly fold: WindowFold;
  readonly pages: number;
}

/** More pages than may be read, and how long a time they seem to cover. */
export interface TooMuch {
  readonly tooMuch: true;
  readonly pages: number;
  readonly coveredMs: number;
}

/**
 * All entries of a window, which is read in spans at the same time; or that there are more pages than may be read.
 *
 * @param spans the window cut in pieces that share no moment, oldest first
 */
export async function readWindow(
  api: MessageApi,
  context: LogContext,
  spans: readonly Span[],
  { budget, isSweep }: ReadOptions,
): Promise<WindowRead | TooMuch> {
  const { account, settings } = context.target;
  const spent = budget.spent;
  const fold = new WindowFold({
    account,
    from: spans[0]!.from,
    memory: context.stores.log.memory(account),
    admit: (label, value, amount) => context.admit(label, value, amount),
    isSweep,
    dimension: settings.logs.dimension,
    readAgainMs: readAgainMs(settings),
  });
  const memory = new RowMemory();
  const readers = spans.map((span) => new Reader({ api, context, budget, memory }, span));
  try {
    const reads = await readAll(
      context.signal,
      readers.map((reader) => (signal: AbortSignal) => readSpan(reader, fold, signal)),
    );
    const cut = reads.findIndex((to, index) => to < spans[index]!.to);
    return {
      to: reads[cut === -1 ? reads.length - 1 : cut]!,
      fold,
      pages: budget.spent - spent,
    };
  } catch (error) {
    if (!(error instanceof ListingError) || error.code !== 'budget') throw error;
    const coveredMs = readers.reduce((sum, reader) => sum + reader.coveredMs, 0);
    return { tooMuch: true, pages: budget.spent - spent, coveredMs };
  }
}

/** Adds the entries of a span to the fold, each with its state; says how far the reading counts. */
async function readSpan(reader: Reader, fold: WindowFold, signal: AbortSignal): Promise<number> {
  const stateless: LogEntry[] = [];
  let stated = 0;
  let to: number | undefined;
  await reader.pass(undefined, signal, (entries, servedTo, { dropped, invalid = [] }) => {
    to ??= servedTo;
    const end = to;
    for (const row of invalid) {
      if ((row.time ?? end) <= end && (row.time ?? end) >= reader.span.from) fold.refuse(row, reader.span.to);
    }
    fold.refuseUnknown(dropped - invalid.length);
    for (const entry of entries) {
      if (entry.time > end) continue;
      if (!hasState(entry)) stateless.push(entry);
      else {
        stated += 1;
        fold.take(entry);
      }
    }
  });
  const end = to ?? reader.span.to;
  if (stated > 0) for (const entry of stateless) fold.refuse({ time: entry.time, identity: statelessKey(entry) }, end);
  if (stated > 0 || stateless.length === 0) return end;
  const passes = await readAll(
    signal,
    STATE_PASSES.map((state) => async (passSignal: AbortSignal) => {
      const found: LogEntry[] = [];
      await reader.pass(state, passSignal, (entries) => void found.push(...entries));
      return [state, found] as const;
    }),
  );
  for (const entry of assignStates(stateless, new Map(passes))) if (entry.time <= end) fold.take(entry);
  return end;
}

function hasState(entry: LogEntry): entry is StatedEntry {
  return entry.state !== undefined;
}

/** What the readers of a window share. */
interface WindowReading {
  readonly api: MessageApi;
  readonly context: LogContext;
  readonly budget: PageBudget;
  readonly memory: RowMemory;
}

class Reader {
  readonly #shared: WindowReading;
  #earliest = Infinity;
  #latest = -Infinity;
  readonly span: Span;

  constructor(shared: WindowReading, span: Span) {
    this.#shared = shared;
    this.span = span;
  }

  get coveredMs(): number {
    return Math.max(0, this.#latest - this.#earliest);
  }

  /** @param take gets the entries of each page, and how far the answer may be taken for complete */
  async pass(
    state: StatePass | undefined,
    signal: AbortSignal,
    take: (entries: readonly LogEntry[], servedTo: number, page: LogPage) => void,
  ): Promise<void> {
    const { from, to } = this.span;
    const { api, context, budget, memory } = this.#shared;
    const { account, settings } = context.target;
    const query: LogQuery = { fromDate: from, toDate: to, count: PAGE_SIZE, ...(state !== undefined && { state }) };
    const pages = listPages(`log of account ${account}`, budget, memory, (cursor) =>
      api.listLogs(cursor === undefined ? query : { ...query, cursor }, { signal }),
    );
    for await (const page of pages) {
      const within: LogEntry[] = [];
      for (const entry of page.value) {
        const { time } = entry;
        // A filter may have been ignored: what is outside the window belongs to another.
        if (time < from || time > to) continue;
        if (time < this.#earliest) this.#earliest = time;
        if (time > this.#latest) this.#latest = time;
        within.push(entry);
        if (entry.flowControlKey !== undefined) this.#saw(entry.flowControlKey);
      }
      // Of a service whose clock is behind ours, only what is surely past there.
      take(within, Math.min(to, (page.servedAt ?? Infinity) - settings.logs.lag), page);
    }
  }

  #saw(flowControlKey: string): void {
    const { clock, stores, target } = this.#shared.context;
    stores.flowControl.memory(target.account).seen.add(flowControlKey, clock.monotonic());
  }
}
