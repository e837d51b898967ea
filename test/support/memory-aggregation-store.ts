/** In-memory implementation of the aggregations' port, the reference of the SQLite adapter, for tests of its users. */
import type { MessageState } from '#foundation/domain/log-entry.ts';
import {
  HOURS_KEPT_MS,
  LogMemory,
  surelyCounted,
  type LogCommit,
  type LogAggregationState,
  type LogAggregationStore,
  type OpenMessage,
} from '#observe/aggregation/log-store.ts';
import type { CounterValue, HistogramValue } from '#observe/aggregation/totals.ts';

interface AccountState {
  state: LogAggregationState;
  readonly counters: Map<string, CounterValue>;
  readonly histograms: Map<string, HistogramValue>;
  readonly memory: LogMemory;
  readonly open: Map<string, OpenMessage>;
  readonly hours: Map<number, Map<MessageState, number>>;
}

export class MemoryAggregationStore implements LogAggregationStore {
  readonly #accounts = new Map<string, AccountState>();
  /** Every commit, oldest first. */
  readonly commits: LogCommit[] = [];
  /** Called before a commit takes effect. Its error simulates a crash at that moment. */
  beforeCommit: (commit: LogCommit) => void = () => undefined;

  loadLogState(account: string): LogAggregationState {
    return this.#of(account).state;
  }

  memory(account: string): LogMemory {
    return this.#of(account).memory;
  }

  openRecords(account: string, messageIds: readonly string[]): ReadonlyMap<string, string> {
    const { open } = this.#of(account);
    return new Map(messageIds.filter((id) => open.has(id)).map((id) => [id, open.get(id)!.record]));
  }

  expired(account: string, before: number, limit: number): readonly OpenMessage[] {
    const silent = [...this.#of(account).open.values()].filter(({ expires }) => expires < before);
    return silent.sort((a, b) => a.expires - b.expires).slice(0, limit);
  }

  commitLog(commit: LogCommit): void {
    this.beforeCommit(commit);
    this.commits.push(commit);
    const account = this.#of(commit.account);
    const {
      watermark,
      keptFrom,
      sweptAt = account.state.sweptAt,
      entryMode = account.state.entryMode,
      windowMs,
      sweep,
      provenAt,
    } = commit;
    account.state = {
      watermark,
      keptFrom,
      ...(sweptAt !== undefined && { sweptAt }),
      ...(entryMode !== undefined && { entryMode }),
      ...(windowMs !== undefined && { windowMs }),
      ...(sweep !== undefined && { sweep }),
      ...(provenAt !== undefined && { provenAt }),
    };
    this.#add(account, commit);
    for (const { hour, state, count } of commit.hours ?? []) {
      const counts = account.hours.get(hour) ?? new Map<MessageState, number>();
      account.hours.set(hour, counts.set(state, (counts.get(state) ?? 0) + count));
    }
    for (const hour of account.hours.keys())
      if (hour < surelyCounted(commit) - HOURS_KEPT_MS) account.hours.delete(hour);
    for (const message of commit.opened ?? []) account.open.set(message.messageId, message);
    for (const messageId of commit.closed ?? []) account.open.delete(messageId);
    account.memory.remember(commit);
  }

  hourCounts(account: string, hour: number): ReadonlyMap<MessageState, number> {
    return this.#of(account).hours.get(hour) ?? new Map();
  }

  counters(account: string): readonly CounterValue[] {
    return [...this.#of(account).counters.values()];
  }

  histograms(account: string): readonly HistogramValue[] {
    return [...this.#of(account).histograms.values()];
  }

  /** Returns the kept amounts, to check that they are bounded. */
  sizes(account: string): { readonly seen: number; readonly open: number } {
    const { memory, open } = this.#of(account);
    return { seen: memory.seen.size, open: open.size };
  }

  #add({ counters, histograms }: AccountState, commit: LogCommit): void {
    for (const { metric, labels, by } of commit.increments) {
      const key = JSON.stringify([metric, labels]);
      counters.set(key, { metric, labels, value: (counters.get(key)?.value ?? 0) + by });
    }
    for (const { metric, labels, buckets, sum } of commit.histograms ?? []) {
      const key = JSON.stringify([metric, labels]);
      const before = histograms.get(key);
      histograms.set(key, {
        metric,
        labels,
        buckets: buckets.map((count, bucket) => count + (before?.buckets[bucket] ?? 0)),
        sum: sum + (before?.sum ?? 0),
      });
    }
  }

  #of(account: string): AccountState {
    let found = this.#accounts.get(account);
    if (found === undefined) {
      found = {
        state: {},
        counters: new Map(),
        histograms: new Map(),
        memory: new LogMemory(),
        open: new Map(),
        hours: new Map(),
      };
      this.#accounts.set(account, found);
    }
    return found;
  }
}
