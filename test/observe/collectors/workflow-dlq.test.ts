import { describe, expect, test } from 'vitest';
import type { WorkflowDlqQuery } from '#service/api.ts';
import { workflowDlq } from '#observe/collectors/workflow-dlq.ts';
import type { Batch } from '#foundation/domain/observation.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { ACCOUNT, context, target } from './fake-context.ts';
import { clientOf, FakeServiceError } from './fake-service.ts';

/** A border of the 15-minute grid. */
const T0 = Date.UTC(2026, 10, 20, 10);
const MINUTE = 60_000;

function failedRun(dlqId: string, createdAt: number, more: Partial<WorkflowDlqEntry> = {}): WorkflowDlqEntry {
  return { dlqId, workflowRunId: `run-${dlqId}`, workflowUrl: 'https://w.example', createdAt, labels: [], ...more };
}

function world(options: { readonly pageSize?: number; readonly maxPages?: number } = {}) {
  const { pageSize = 100, maxPages = 50 } = options;
  const clock = new ManualClock(T0);
  const held: WorkflowDlqEntry[] = [];
  const queries: WorkflowDlqQuery[] = [];
  let beforeAnswer: (query: WorkflowDlqQuery) => void = () => undefined;
  const client = clientOf({
    message: {
      listWorkflowDlq: async (query) => {
        queries.push(query);
        beforeAnswer(query);
        const matching = held.filter(({ createdAt }) => createdAt >= (query.fromDate ?? 0));
        const start = Number(query.cursor ?? 0);
        const next = start + pageSize;
        return {
          value: matching.slice(start, next),
          dropped: 0,
          ...(next < matching.length && { cursor: String(next) }),
        };
      },
    },
  });
  let previous: Batch<'workflowDlq'> | undefined;
  const watched = target({ settings: { workflowDlq: { maxPages } } });
  const run = async (): Promise<string[]> => {
    const { rows, dropped } = await workflowDlq.collect(
      client,
      context<'workflowDlq'>({ target: watched, clock, ...(previous && { previous }) }),
    );
    previous = { account: ACCOUNT, collector: 'workflowDlq', at: clock.now(), rows, dropped };
    return rows.map(({ dlqId }) => dlqId);
  };
  return {
    clock,
    held,
    queries,
    run,
    rows: () => previous!.rows,
    onQuery: (listener: typeof beforeAnswer) => {
      beforeAnswer = listener;
    },
  };
}

describe('a whole listing', () => {
  test('is read at the start, to the end of the cursor', async () => {
    const w = world({ pageSize: 2 });
    w.held.push(...[5, 3, 1, 4, 2].map((n) => failedRun(`d${n}`, T0 - n)));
    expect(await w.run()).toEqual(['d5', 'd4', 'd3', 'd2', 'd1']);
    expect(w.queries).toEqual([{ count: 100 }, { count: 100, cursor: '2' }, { count: 100, cursor: '4' }]);
  });

  test('has each entry once, however often it was listed', async () => {
    const w = world();
    w.held.push(failedRun('a', T0), failedRun('a', T0, { responseStatus: 500 }), failedRun('b', T0 + 1));
    expect(await w.run()).toEqual(['a', 'b']);
    expect(w.rows()[0]).toMatchObject({ responseStatus: 500 });
  });

  test('that was not read to its end is not a batch', async () => {
    const w = world({ pageSize: 1 });
    w.held.push(failedRun('a', T0), failedRun('b', T0));
    w.onQuery(({ cursor }) => {
      if (cursor !== undefined) throw new FakeServiceError('timeout');
    });
    await expect(w.run()).rejects.toMatchObject({ code: 'timeout' });
  });

  test('with more pages than allowed fails and names the setting', async () => {
    const w = world({ pageSize: 1, maxPages: 2 });
    w.held.push(failedRun('a', T0), failedRun('b', T0));
    expect(await w.run()).toEqual(['a', 'b']);
    w.held.push(failedRun('c', T0));
    await w.clock.advance(15 * MINUTE);
    await expect(w.run()).rejects.toMatchObject({ code: 'budget', message: /collectors\.workflowDlq\.maxPages/ });
  });

  test('with a repeated cursor fails', async () => {
    const client = clientOf({
      message: { listWorkflowDlq: () => Promise.resolve({ value: [], dropped: 0, cursor: 'x' }) },
    });
    await expect(workflowDlq.collect(client, context())).rejects.toMatchObject({ code: 'cursor_loop' });
  });
});

describe('in between', () => {
  test('only new entries are requested, and added to the known ones', async () => {
    const w = world();
    w.held.push(failedRun('a', T0 - 60 * MINUTE), failedRun('b', T0 - 20 * MINUTE));
    await w.run();
    await w.clock.advance(MINUTE);
    w.held.push(failedRun('c', T0 + 1));
    w.held[1] = failedRun('b', T0 - 20 * MINUTE, { failureFunctionState: 'CALLBACK_SUCCESS' });
    expect(await w.run()).toEqual(['a', 'b', 'c']);
    expect(w.queries.at(-1)).toEqual({ count: 100, fromDate: T0 - 30 * MINUTE });
    expect(w.rows()[1]).toMatchObject({ failureFunctionState: 'CALLBACK_SUCCESS' });
  });

  test('departed entries remain until the next whole listing', async () => {
    const w = world();
    w.held.push(failedRun('a', T0), failedRun('b', T0 + 1));
    await w.run();
    w.held.splice(0, 1);
    await w.clock.advance(14 * MINUTE);
    expect(await w.run()).toEqual(['a', 'b']);
    await w.clock.advance(MINUTE);
    expect(await w.run()).toEqual(['b']);
    expect(w.queries.at(-1)).toEqual({ count: 100 });
  });

  test('a failed whole listing is retried in the next run', async () => {
    const w = world();
    w.held.push(failedRun('a', T0));
    await w.run();
    await w.clock.advance(15 * MINUTE);
    w.onQuery(() => {
      throw new FakeServiceError('server_error');
    });
    await expect(w.run()).rejects.toMatchObject({ code: 'server_error' });
    w.onQuery(() => undefined);
    await w.clock.advance(MINUTE);
    await w.run();
    expect(w.queries.at(-1)).toEqual({ count: 100 });
  });

  test('a reading across the border of the interval is followed by a whole listing at once', async () => {
    const w = world();
    w.held.push(failedRun('a', T0), failedRun('b', T0 + 1));
    await w.run();
    w.held.splice(0, 1);
    await w.clock.advance(14 * MINUTE);
    w.onQuery(({ fromDate }) => {
      if (fromDate !== undefined) w.clock.jump(2 * MINUTE);
    });
    expect(await w.run()).toEqual(['b']);
  });

  test('an empty DLQ is read whole: it costs the same', async () => {
    const w = world();
    await w.run();
    await w.clock.advance(MINUTE);
    w.held.push(failedRun('old', T0 - 86_400_000));
    expect(await w.run()).toEqual(['old']);
  });
});
