/** An export of spans over a real store and a controlled clock, for tests. */
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { traceSettings } from '#observe/tracing/settings.ts';
import { createSpanExport, type SpanExport } from '#observe/tracing/spans.ts';
import type { EntryMode, OpenMessage } from '#observe/aggregation/log-store.ts';
import type { MessageProgress } from '#observe/aggregation/message-trace.ts';
import type { CommitFacts } from '#observe/aggregation/span-outbox.ts';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { createSpanOutbox, type StoredSpanOutbox } from '#storage/span-outbox.ts';
import { createLogAggregationStore } from '#storage/log-aggregation-store.ts';
import { createTotals } from '#storage/totals.ts';
import { openStore, type Store } from '#storage/sqlite.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** 2026-05-04 12:00:00.250 UTC */
export const AT = Date.UTC(2026, 4, 4, 12) + 250;
export const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

/** Builds a message that was delivered at the second attempt. All its facts are new. */
export function message(more: Partial<MessageProgress> = {}): MessageProgress {
  const attempts = more.attempts ?? [
    { dueAt: AT, startedAt: AT + 100, endedAt: AT + 600, responseStatus: 503, failure: 'http' },
    { dueAt: AT + 1_600, startedAt: AT + 2_000, endedAt: AT + 3_000, responseStatus: 200 },
  ];
  const all = attempts.map((_attempt, index) => index);
  return {
    account: 'prod',
    messageId: 'msg_1',
    createdAt: AT,
    dueAt: AT,
    end: { at: AT + 3_000, outcome: 'delivered' },
    url: 'https://user:pass@hooks.example:8443/in/42?id=7&api_key=hush#part',
    method: 'PUT',
    news: { created: true, attempts: all, outcomes: all, ended: true },
    ...more,
    attempts,
  };
}

/** Builds the same message without an end. The given attempts are new. */
export function openMessage(more: Partial<MessageProgress> = {}, outcomes: readonly number[] = []): MessageProgress {
  const { end: _end, ...rest } = message({ attempts: [], ...more });
  return { ...rest, news: { created: false, attempts: outcomes, outcomes, ended: false } };
}

export interface Committing {
  readonly entryMode?: EntryMode;
  readonly from?: number;
  readonly watermark?: number;
  /** Messages in flight before the commit. */
  readonly open?: readonly MessageProgress[];
  readonly closed?: readonly string[];
}

export interface SpanWorld {
  readonly spans: SpanExport;
  readonly outbox: StoredSpanOutbox;
  /** Messages whose root span was sent while they were open. */
  readonly leftOpen: (account: string) => Promise<ReadonlySet<string>>;
  readonly store: Store;
  /** Events, without those about waiting spans. */
  readonly events: OpsEvent[];
  readonly clock: ManualClock;
  /** Makes spans and commits them. */
  readonly send: (progress: readonly MessageProgress[], more?: Committing) => Promise<void>;
  readonly flush: () => Promise<void>;
}

export interface SpanWorldOptions {
  readonly traces?: Record<string, unknown>;
  readonly env?: Record<string, string>;
  /** Store of an earlier world; a new one when absent. */
  readonly storePath?: string;
  readonly failedRuns?: (account: string, workflowRunIds: Iterable<string>) => Promise<ReadonlyMap<string, string>>;
}

export async function spanWorld(sink: { readonly url: string }, options: SpanWorldOptions = {}): Promise<SpanWorld> {
  const events: OpsEvent[] = [];
  const bus = new EventBus();
  const clock = new ManualClock(AT + 5_000);
  bus.subscribe((event) => event.type !== 'spans.queued' && events.push(event));
  const store = openStore(options.storePath ?? join(tempDir(), 'opsd.db'));
  const outbox = await createSpanOutbox(store);
  const log = createLogAggregationStore(store, createTotals(store), { spans: outbox });
  const { otlp, ...rest } = (options.traces ?? {}) as { otlp?: object };
  const spans = await createSpanExport({
    settings: traceSettings.parse({ sampleRatio: 1, otlp: { url: sink.url, ...otlp }, ...rest }),
    env: options.env ?? {},
    events: bus,
    clock,
    version: '1.2.3',
    outbox,
    ...(options.failedRuns && { failedRuns: options.failedRuns }),
  });
  if (spans === undefined) throw new Error('no endpoint');
  onTestFinished(async () => {
    const ended = spans[Symbol.asyncDispose]();
    await clock.advance(10_000);
    await ended;
    if (store.db.isOpen) store[Symbol.dispose]();
  });
  return {
    spans,
    outbox,
    store,
    events,
    clock,
    leftOpen: async (account) => (await log.memory(account)).leftOpen,
    async send(progress, { entryMode = 'transitions', from = AT, watermark = AT, open = [], closed = [] } = {}) {
      const account = progress[0]?.account ?? open[0]?.account ?? 'prod';
      const facts: CommitFacts = {
        account,
        from,
        watermark,
        entryMode,
        open: new Map(
          open.map(({ messageId, createdAt, dueAt }) => [messageId, { destination: '', createdAt, dueAt }]),
        ),
        opened: [] satisfies OpenMessage[],
        closed,
        leftOpen: (await log.memory(account)).leftOpen,
      };
      const ids = spans.source.due(facts);
      const due = open.filter(({ messageId }) => ids.includes(messageId));
      const failedRuns = await spans.source.failedRuns(account, [...progress, ...due]);
      const made = spans.source.make(facts, { progress, due, failedRuns });
      await log.commitLog({ account, watermark, keptFrom: from, increments: [], spans: made, closed });
    },
    flush: () => spans.flush(new AbortController().signal),
  };
}
