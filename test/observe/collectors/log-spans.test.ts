/**
 * From the log to the outbox: with any windows, crashes and restarts, each span is created once and matches the whole
 * log.
 */
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { logs } from '#observe/collectors/logs.ts';
import type { Batch } from '#foundation/domain/observation.ts';
import { traceFromLog } from '#observe/tracing/log-trace.ts';
import { jsonSpan } from '#observe/tracing/otlp-json.ts';
import { traceSettings } from '#observe/tracing/settings.ts';
import { spanRequest } from '#observe/tracing/span-frames.ts';
import { createSpanSource } from '#observe/tracing/span-source.ts';
import { spanIdOf } from '#observe/tracing/trace-ids.ts';
import type { SpanSource } from '#observe/aggregation/span-outbox.ts';
import type { AggregationStores } from '#observe/aggregation/stores.ts';
import { EventBus } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { createLogAggregationStore } from '#storage/log-aggregation-store.ts';
import { createSpanOutbox, type StoredSpanOutbox } from '#storage/span-outbox.ts';
import { createTotals } from '#storage/totals.ts';
import { openStore } from '#storage/sqlite.ts';
import { histories } from '../../support/log-history.ts';
import { memoryStores } from '../../support/memory-aggregation-stores.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { ACCOUNT, context, target } from './fake-context.ts';
import { FakeLog } from './fake-service.ts';

const T0 = Date.UTC(2026, 10, 20, 10);
const MINUTE = 60_000;
const settings = traceSettings.parse({ sampleRatio: 1, maxAge: '31d', maxSpansPerSecond: 100_000 });

type Happening = 'run' | 'commit fails' | 'restart';

interface Process {
  readonly stores: AggregationStores;
  readonly outbox: StoredSpanOutbox;
  readonly spans: SpanSource;
}

/** The test expects no dropped span, so each drop is an error. */
function eventsThatDropNothing(): EventBus {
  const events = new EventBus();
  events.subscribe((event) => {
    throw new Error(JSON.stringify(event));
  });
  return events;
}

test('each span once, matching the whole log', async () => {
  const happenings = fc.array(
    fc.record({
      what: fc.constantFrom<Happening>('run', 'run', 'commit fails', 'restart'),
      ms: fc.integer({ min: 1_000, max: 5 * MINUTE }),
    }),
    { maxLength: 12 },
  );
  await fc.assert(
    fc.asyncProperty(histories(T0, 10), happenings, async (messages, happened) => {
      const clock = new ManualClock(T0 - MINUTE);
      const log = new FakeLog({ clock });
      log.entries.push(...messages.flatMap(({ entries }) => entries));
      using store = openStore(join(tempDir(), 'opsd.db'));
      let fails = false;
      const begin = async (): Promise<Process> => {
        const outbox = await createSpanOutbox(store);
        const failing: Pick<StoredSpanOutbox, 'begin'> = {
          begin(...commit) {
            const write = outbox.begin(...commit);
            const fail = function* (): typeof write.work {
              yield* write.work;
              if (fails) throw new Error('the disk is full');
              return undefined;
            };
            return { ...write, work: fail() };
          },
        };
        const spans = createSpanSource({
          settings,
          protocol: 'http/json',
          outbox,
          clock,
          events: eventsThatDropNothing(),
          headOf: () => ({ resource: [], scope: { name: 'x', version: '1' }, schemaUrl: '' }),
          failedRuns: async () => new Map(),
        });
        const aggregations = createLogAggregationStore(store, createTotals(store), { spans: failing });
        return { stores: { ...memoryStores(), log: aggregations }, outbox, spans };
      };
      let process = await begin();
      let previous: Batch<'logs'> | undefined;
      const run = async (): Promise<void> => {
        const { stores, spans } = process;
        const { rows, dropped } = await logs.collect(
          log.client,
          context<'logs'>({ target: target(), clock, stores, spans, ...(previous && { previous }) }),
        );
        previous = { account: ACCOUNT, collector: 'logs', at: clock.now(), rows, dropped };
      };
      await run();
      for (const { what, ms } of happened) {
        await clock.advance(ms);
        if (what === 'restart') {
          process = await begin();
          previous = undefined;
        }
        fails = what === 'commit fails';
        await run().catch((error: unknown) => {
          if (!fails) throw error;
        });
        fails = false;
      }
      await clock.advance(3 * 60 * MINUTE);
      await run();

      const made: string[] = [];
      for (let batch = await process.outbox.next(); batch !== undefined; batch = await process.outbox.next(batch.id)) {
        const { resourceSpans } = JSON.parse(Buffer.from(spanRequest(batch, 0).body!).toString('utf8')) as {
          resourceSpans: { scopeSpans: { spans: object[] }[] }[];
        };
        made.push(...resourceSpans[0]!.scopeSpans[0]!.spans.map((span) => JSON.stringify(span)));
      }
      const expected: string[] = [];
      const open: string[] = [];
      for (const { messageId, entries } of messages) {
        const trace = (await traceFromLog({ account: ACCOUNT, settings }, async () => entries))!;
        if (trace.isOpen) open.push(spanIdOf(ACCOUNT, messageId, 'deliver'));
        expected.push(...trace.spans.slice(trace.isOpen ? 1 : 0).map(jsonSpan));
      }
      // Roots of open messages end at another time there.
      const roots = made.filter((text) =>
        open.some((id) => text.includes(`"spanId":"${id}"`) && !text.includes('"parentSpanId"')),
      );
      expect(roots.every((text) => text.includes('"messaging.msgsvc.open"'))).toBe(true);
      expect(roots).toHaveLength(open.length);
      expect(made.filter((text) => !roots.includes(text)).toSorted()).toEqual(expected.toSorted());
    }),
    { numRuns: 30 },
  );
});
