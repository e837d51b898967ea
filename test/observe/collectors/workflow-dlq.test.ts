import { describe, expect, test } from 'vitest';
import { workflowDlq } from '#observe/collectors/workflow-dlq.ts';
import { context } from './fake-context.ts';
import { clientOf, FakeServiceError } from './fake-service.ts';
import { MINUTE, T0, WorkflowDlqWorld } from './workflow-dlq-world.ts';

/** Returns a world with an entry for each of these times, with ids from "d1" on. */
function holding(...times: readonly number[]): WorkflowDlqWorld {
  const w = new WorkflowDlqWorld();
  for (const createdAt of times) w.enter({ createdAt });
  return w;
}

/** Returns the ids after a run. */
async function idsOf(w: WorkflowDlqWorld, afterMs = 0): Promise<readonly string[]> {
  await w.run(afterMs);
  return w.shown;
}

describe('a whole listing', () => {
  test('is read at the start, to the end of the cursor', async () => {
    const w = holding(...[5, 3, 1, 4, 2].map((n) => T0 - n));
    w.pageSize = 2;
    expect(await idsOf(w)).toEqual(['d1', 'd4', 'd2', 'd5', 'd3']);
    expect(w.queries).toEqual([{ count: 100 }, { count: 100, cursor: '2' }, { count: 100, cursor: '4' }]);
  });

  test('has each entry once, however often it was listed', async () => {
    const w = holding(T0, T0 + 1);
    w.held.set('d1 again', { ...w.held.get('d1')!, responseStatus: 500 });
    expect(await idsOf(w)).toEqual(['d1', 'd2']);
    expect(w.previous!.rows[0]).toMatchObject({ responseStatus: 500 });
  });

  test('that was not read to its end is not a batch', async () => {
    const w = holding(T0, T0);
    w.pageSize = 1;
    w.onQuery = ({ cursor }) => {
      if (cursor !== undefined) throw new FakeServiceError('timeout');
    };
    await expect(w.run()).rejects.toMatchObject({ code: 'timeout' });
  });

  test('with more pages than allowed fails and names the setting', async () => {
    const w = holding(T0, T0);
    Object.assign(w, { pageSize: 1, maxPages: 2 });
    expect(await idsOf(w)).toEqual(['d1', 'd2']);
    w.enter();
    await expect(w.wholeRun()).rejects.toMatchObject({ code: 'budget', message: /collectors\.workflowDlq\.maxPages/ });
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
    const w = holding(T0 - 60 * MINUTE, T0 - 20 * MINUTE);
    await w.run();
    w.enter({ createdAt: T0 + 1 });
    w.held.set('d2', { ...w.held.get('d2')!, failureFunctionState: 'CALLBACK_SUCCESS' });
    expect(await idsOf(w, MINUTE)).toEqual(['d1', 'd2', 'd3']);
    expect(w.queries.at(-1)).toEqual({ count: 100, fromDate: T0 - 30 * MINUTE });
    expect(w.previous!.rows[1]).toMatchObject({ failureFunctionState: 'CALLBACK_SUCCESS' });
  });

  test('departed entries remain until the next whole listing', async () => {
    const w = holding(T0, T0 + 1);
    await w.run();
    w.held.delete('d1');
    expect(await idsOf(w, 14 * MINUTE)).toEqual(['d1', 'd2']);
    expect(await idsOf(w, MINUTE)).toEqual(['d2']);
    expect(w.queries.at(-1)).toEqual({ count: 100 });
  });

  test('a failed whole listing is retried in the next run', async () => {
    const w = holding(T0);
    await w.run();
    w.onQuery = () => {
      throw new FakeServiceError('server_error');
    };
    await expect(w.wholeRun()).rejects.toMatchObject({ code: 'server_error' });
    w.onQuery = () => undefined;
    await w.run(MINUTE);
    expect(w.queries.at(-1)).toEqual({ count: 100 });
  });

  test('a reading across the border of the interval is followed by a whole listing at once', async () => {
    const w = holding(T0, T0 + 1);
    await w.run();
    w.held.delete('d1');
    w.onQuery = ({ fromDate }) => {
      if (fromDate !== undefined) w.clock.jump(2 * MINUTE);
    };
    expect(await idsOf(w, 14 * MINUTE)).toEqual(['d2']);
  });

  test('an empty DLQ is read whole: it costs the same', async () => {
    const w = holding();
    await w.run();
    w.enter({ createdAt: T0 - 86_400_000 });
    expect(await idsOf(w, MINUTE)).toEqual(['d1']);
  });
});
