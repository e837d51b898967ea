/**
 * Ids, addresses of people, secrets, bodies and error texts never become labels. The tests use the gauges of every
 * collector, the counters of the log and of the workflow DLQ, and a restart.
 */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { logs } from '#observe/collectors/logs.ts';
import { workflowDlq } from '#observe/collectors/workflow-dlq.ts';
import type { LogEntry, MessageState } from '#foundation/domain/log-entry.ts';
import { COLLECTOR_NAMES } from '#foundation/domain/observation.ts';
import { createLabelStore } from '#storage/label-store.ts';
import { createLogAggregationStore } from '#storage/log-aggregation-store.ts';
import { createTotals } from '#storage/totals.ts';
import { createWorkflowDlqStore } from '#storage/workflow-dlq-store.ts';
import { openStore } from '#storage/sqlite.ts';
import { context, target } from '../collectors/fake-context.ts';
import { answer, clientOf } from '../collectors/fake-service.ts';
import { event } from '../../support/events.ts';
import { memoryStores } from '../../support/memory-aggregation-stores.ts';
import { storedCounters, storedHistograms } from '../../support/stored-totals.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { dlqRow, publishEverything, world, type World } from './world.ts';

/** Texts in the place of names, with the parts that must not be shown. */
const IDENTIFIERS: readonly (readonly [text: string, ...never: string[]])[] = [
  ['msg_2wKq7PzL9xT4vB8nR3sD6', '2wKq7PzL'],
  ['wfr_HH2rGuCRUR45B8hLPh8nJH', 'HH2rGuCR'],
  ['3f2504e0-4f89-11d3-9a0c-0305e82c3301', '3f2504e0'],
  ['export-3f2504e0-4f89-11d3-9a0c-0305e82c3301', '3f2504e0'],
  ['jane.doe@example.com', 'jane', 'doe'],
  ['mail/jane.doe@example.com', 'jane', 'doe'],
  ['jane.doe%40example.com', 'jane', 'doe'],
  ['+491701234567', '1701234567'],
  ['4111111111111111', '41111111'],
  ['customer-4711815', '4711815'],
  ['tenant:99887766', '99887766'],
  ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N', 'eyJhbGci', 'dozjgNry'],
  ['sk_live_4eC39HqLyjWDarjtT1zdp7dc', '4eC39Hq'],
  ['opsd:instance:lineage77:1', 'lineage77'],
  ['line\nbreak{} 1\nfake_metric 1'],
];

const URLS: readonly (readonly [text: string, ...never: string[]])[] = [
  ['https://user:hunter2@host.example/run?token=t0psecret#frag', 'hunter2', 't0psecret', 'frag'],
  ['https://host.example/users/jane.doe@example.com/orders/4711815', 'jane', '4711815'],
  ['https://host.example/r/msg_2wKq7PzL9xT4vB8nR3sD6;session=s3ss10n', '2wKq7PzL', 's3ss10n'],
  ['https://host.example/3f2504e0-4f89-11d3-9a0c-0305e82c3301', '3f2504e0'],
];

/** Texts of errors and bodies only. */
const TEXT = 'connect ECONNREFUSED 10.1.2.3: password=hunter2 for jane.doe@example.com {"card":"4111111111111111"}';
const NEVER_OF_TEXT = ['ECONNREFUSED', 'password', 'card'];

const ALL = [...IDENTIFIERS, ...URLS];
const NEVER = [...ALL.flatMap(([, ...never]) => never), ...NEVER_OF_TEXT];

/** Returns samples with forbidden parts, in either format. */
async function leaks(made: Pick<World, 'text' | 'scrape'>): Promise<readonly string[]> {
  const texts = [await made.text('text'), await made.text('openmetrics')];
  const samples = texts.flatMap((text) => text.split('\n')).filter((line) => !line.startsWith('#'));
  // The text parses, and no series occurs twice.
  await made.scrape();
  return samples.filter((line) => NEVER.some((never) => line.includes(never)) || /^(?:break|fake_metric)/.test(line));
}

/** Replaces every text of a value. Ids of the configuration, and words of the program, remain. */
function poisoned(value: unknown, text: string, key = ''): unknown {
  if (key === 'index' || key === 'source') return value;
  if (typeof value === 'string') return key === 'responseText' ? TEXT : text;
  if (Array.isArray(value)) return value.map((item) => poisoned(item, text, key));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, poisoned(item, text, name)]));
}

describe('hostile values', () => {
  test.each(ALL.map(([text]) => text))('as every text of every collector’s rows: %j', async (text) => {
    const made = await world({ metrics: { latencyUnit: 'ms', workflowDlqLabels: true } });
    publishEverything(made);
    for (const collector of COLLECTOR_NAMES) {
      const rows = made.board.latest('prod', collector)!.rows;
      made.publish(collector, poisoned(rows, text) as never);
    }
    expect(await leaks(made)).toEqual([]);
  });

  test('in counted entries of the log and of the workflow DLQ, and after a restart', async () => {
    const store = openStore(join(tempDir(), 'opsd.db'));
    const start = async () => {
      const totals = createTotals(store);
      return { ...(await world({ deps: { totals, labels: createLabelStore(store, totals) } })), totals };
    };
    const first = await start();
    const { clock, metrics, totals } = first;
    const stores = {
      ...memoryStores(),
      log: createLogAggregationStore(store, totals),
      workflowDlq: createWorkflowDlqStore(store, totals),
    };
    const states: readonly MessageState[] = ['CREATED', 'ACTIVE', 'ERROR', 'FAILED', 'DELIVERED', 'CANCELLED'];
    const at = clock.now();
    const entries = ALL.flatMap(([text], number) =>
      (['topicName', 'queueName', 'url'] as const).flatMap((field) =>
        states.map((state, step): LogEntry => ({
          time: at + 1_000 + step,
          messageId: `msg_2wKq7PzL9xT4vB8nR3sD6-${number}-${field}`,
          state,
          [field]: text,
          scheduleId: text,
          endpointName: text,
          error: TEXT,
          responseStatus: 503,
          labels: [text],
          flowControlKey: text,
        })),
      ),
    );
    let runs = [dlqRow('old')];
    const client = clientOf({
      message: {
        listLogs: async ({ fromDate = 0, toDate = Infinity }) => {
          const logs = entries.filter(({ time }) => time >= fromDate && time <= toDate);
          return { value: logs, dropped: 0, servedAt: clock.now() };
        },
        listWorkflowDlq: async () => answer(runs),
      },
    });
    const base = {
      clock,
      stores,
      target: target({ account: 'prod', settings: { logs: { dimension: 'label' } } }),
      admit: (label: string, value: string, amount?: number) => metrics.admit('prod', label, value, amount),
    };
    const read = async (): Promise<void> => {
      await logs.collect(client, context<'logs'>(base));
      const { rows } = await workflowDlq.collect(client, context<'workflowDlq'>(base));
      first.publish('workflowDlq', rows);
    };
    await read();
    await clock.advance(60_000);
    runs = ALL.map(([text], number) =>
      dlqRow(text, {
        dlqId: `${text}-${number}`,
        workflowUrl: text,
        labels: [text],
        flowControlKey: text,
        responseText: TEXT,
        failureFunctionState: text,
      }),
    );
    await read();
    const counted = storedCounters(store, 'prod').filter(
      ({ metric }) => metric === 'msgsvc_log_events_by_dimension_total',
    );
    expect(counted.length).toBeGreaterThan(3);
    expect(await leaks(first)).toEqual([]);
    const labels = [...storedCounters(store, 'prod'), ...storedHistograms(store, 'prod')].flatMap((row) => row.labels);
    for (const never of NEVER)
      expect
        .soft(
          labels.filter((label) => label.includes(never)),
          never,
        )
        .toEqual([]);
    await metrics.tidyLabels();
    expect(await leaks(await start())).toEqual([]);
    store[Symbol.dispose]();
  });

  test('in the daemon’s metrics about itself', async () => {
    const made = await world();
    for (const [text] of ALL) {
      made.events.emit(event('collector.finished', { failure: { reason: 'timeout', message: text } }));
      made.events.emit(event('api.invalid_rows', { example: text }));
      made.events.emit(event('action.outcome', { target: text, outcome: 'unknown', detail: text }));
      made.events.emit({ type: 'store.failed', operation: text, message: text });
    }
    expect(await leaks(made)).toEqual([]);
  });
});
