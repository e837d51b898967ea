/** The log collector over a small service, with a store in memory and a stopped clock. */
import { vi } from 'vitest';
import type { ServiceClient } from '#service/api.ts';
import { logs } from '#observe/collectors/logs.ts';
import { timing } from '#observe/collectors/settings.ts';
import type { EndedAttemptsRead } from '#foundation/domain/ended-attempts.ts';
import type { Batch, LogProgress } from '#foundation/domain/observation.ts';
import { deliveryLines } from '#observe/tracing/delivery-line.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { withTimeout } from '#foundation/platform/sleep.ts';
import { countersOf, type HistoryEntry } from '../../support/log-history.ts';
import { memoryStores } from '../../support/memory-aggregation-stores.ts';
import { ACCOUNT, context, target } from './fake-context.ts';
import { FakeLog, type FakeLogOptions } from './fake-service.ts';

export const T0 = Date.UTC(2026, 10, 20, 10);
export const SECOND = 1_000;
export const LAG = 15 * SECOND;

export interface WorldOptions extends Omit<FakeLogOptions, 'clock'> {
  readonly pageBudget?: number;
  readonly sweep?: { readonly every: string; readonly reach: string };
  readonly dimension?: string;
}

export function world({ pageBudget = 200, sweep, dimension, ...options }: WorldOptions = {}) {
  const clock = new ManualClock(T0);
  const log = new FakeLog({ clock, ...options });
  let stores = memoryStores();
  const reads: EndedAttemptsRead[] = [];
  const resets: { readonly from: number; readonly to: number }[] = [];
  let previous: Batch<'logs'> | undefined;
  const chosen = { pageBudget, ...(sweep && { sweep }), ...(dimension !== undefined && { dimension }) };
  const watched = target({ settings: { logs: chosen } });
  let client = log.client;
  /** Replaces the client. */
  const through = (other: ServiceClient): void => void (client = other);
  /** Runs the collector as the daemon does. */
  const run = async (signal = new AbortController().signal): Promise<LogProgress> => {
    const { rows, dropped } = await logs.collect(
      client,
      context<'logs'>({
        signal,
        target: watched,
        clock,
        stores,
        lines: deliveryLines,
        onAttempts: (read) => void reads.push(read),
        onSetBack: (from, to) => void resets.push({ from, to }),
        ...(previous && { previous }),
      }),
    );
    previous = { account: ACCOUNT, collector: 'logs', at: clock.now(), rows, dropped };
    return rows[0]!;
  };
  const after = async (ms: number): Promise<LogProgress> => {
    await clock.advance(ms);
    return run();
  };
  /**
   * Runs against a service whose responses take time, with the collector's timeout. The clock moves with the run.
   *
   * @returns the error of the run
   */
  const slowRun = async (): Promise<unknown> => {
    const state = { isOver: false };
    const never = new AbortController().signal;
    const ran = withTimeout(clock, timing('logs', watched.settings).timeoutMs, never, run)
      .then(() => undefined)
      .catch((error: unknown) => error)
      .finally(() => (state.isOver = true));
    await clock.advance(0);
    while (!state.isOver) await clock.advance(clock.nextIn ?? 0);
    return ran;
  };
  /** Continues as a new process over the same database. */
  const restart = (): void => {
    previous = undefined;
    stores = stores.restarted();
  };
  /** Runs until the watermark has passed a given time. */
  const runUntil = async (moment: number): Promise<number> => {
    for (let runs = 1; runs < 500; runs += 1) {
      const { watermark } = await run();
      if (watermark >= moment) return runs;
      await clock.advance(SECOND);
    }
    throw new Error('the watermark does not get there');
  };
  const counters = (): Record<string, number> => countersOf(stores.counters(ACCOUNT));
  const own = (metric: string): number | undefined =>
    stores.counters(ACCOUNT).find((counter) => counter.metric === metric)?.value;
  /** Returns the number of observations of each histogram. */
  const counts = (): Record<string, number> =>
    Object.fromEntries(
      stores
        .histograms(ACCOUNT)
        .map(({ metric, labels, buckets }) => [[metric, ...labels].join(' '), buckets.reduce((sum, n) => sum + n, 0)]),
    );
  /** Returns the messages with a committed end, with their outcomes. */
  const ends = (): { id: string; outcome: string }[] =>
    stores.lines
      .map((line) => JSON.parse(line) as Record<string, string>)
      .map((line) => ({ id: line['messaging.message.id']!, outcome: line['messaging.msgsvc.outcome']! }));
  /** Returns the numbers of remembered keys and messages. */
  const sizes = async (): Promise<{ readonly seen: number; readonly open: number }> => {
    const { seen, open } = await stores.log.memory(ACCOUNT);
    return { seen: seen.size, open: open.size };
  };
  const failCommits = (): { mockRestore(): void } =>
    vi.spyOn(stores.log, 'commitLog').mockRejectedValue(new Error('disk full'));
  return {
    clock,
    log,
    get stores() {
      return stores;
    },
    reads,
    resets,
    ends,
    run,
    after,
    slowRun,
    restart,
    runUntil,
    through,
    counters,
    counts,
    own,
    sizes,
    failCommits,
  };
}

/** Returns a world after its first run, which counts nothing. */
export async function begun(...options: Parameters<typeof world>) {
  const w = world(...options);
  await w.run();
  return w;
}

export function entry(time: number, more: Partial<HistoryEntry> = {}): HistoryEntry {
  return { time: T0 + time, messageId: `msg-${time}`, state: 'CREATED', labels: [], url: 'https://a.example', ...more };
}
