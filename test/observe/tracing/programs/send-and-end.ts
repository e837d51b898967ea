/**
 * Sends one message's spans to the receiver in the environment, ends the export, and reports it. The rest must not keep
 * the process alive. Without a receiver it still reports whether OpenTelemetry was loaded.
 */
import { registerHooks } from 'node:module';
import type { MessageProgress } from '#observe/aggregation/message-trace.ts';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import { systemClock, type Clock } from '#foundation/platform/clock.ts';

const loaded: string[] = [];
registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith('@opentelemetry/')) loaded.push(specifier);
    return next(specifier, context);
  },
});

const { createSpanExport } = await import('#observe/tracing/spans.ts');
const { traceSettings } = await import('#observe/tracing/settings.ts');
const { openStore } = await import('#storage/sqlite.ts');
const { createLogAggregationStore } = await import('#storage/log-aggregation-store.ts');
const { createTotals } = await import('#storage/totals.ts');
const { createSpanOutbox } = await import('#storage/span-outbox.ts');

/** Ten times as fast, so that a test need not wait. */
const clock: Clock = { ...systemClock, after: (ms, run) => systemClock.after(ms / 10, run) };
const events = new EventBus();
const seen: OpsEvent[] = [];
events.subscribe((event) => seen.push(event));
using store = openStore(process.argv[2]!);
const outbox = await createSpanOutbox(store);
const log = createLogAggregationStore(store, createTotals(store), { spans: outbox });
const spans = await createSpanExport({
  settings: traceSettings.parse({ sampleRatio: 1 }),
  env: process.env,
  events,
  clock,
  version: '0.0.0',
  outbox,
});
const at = Date.now();
if (spans !== undefined) {
  const facts = { account: 'a', from: at, watermark: at, open: new Map(), leftOpen: new Set<string>() };
  const message: MessageProgress = {
    account: 'a',
    messageId: 'm',
    createdAt: at,
    end: { at, outcome: 'delivered' },
    attempts: [{ endedAt: at }],
    news: { created: true, attempts: [0], outcomes: [0], ended: true },
  };
  const made = spans.source.make(
    { ...facts, entryMode: 'transitions', opened: [], closed: [] },
    { progress: [message], due: [], failedRuns: new Map() },
  );
  await log.commitLog({ account: 'a', watermark: at, keptFrom: at, increments: [], spans: made });
}
const before = performance.now();
await spans?.[Symbol.asyncDispose]();
const disposeMs = performance.now() - before;
process.stdout.write(
  JSON.stringify({ loaded, events: seen, disposeMs, endedAt: Date.now(), left: outbox.queued().spans }),
);
