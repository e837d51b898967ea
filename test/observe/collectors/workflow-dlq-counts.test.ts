/**
 * Entries and departures of the workflow DLQ, counted while the service changes during reads and fails, and across
 * restarts.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { departuresBy } from '#observe/collectors/own-departures.ts';
import { ACCOUNT } from './fake-context.ts';
import { FakeServiceError } from './fake-service.ts';
import { HOUR, MINUTE, T0, URLS, WorkflowDlqWorld as World } from './workflow-dlq-world.ts';

function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((a, b) => a + b, 0);
}

describe('entered runs', () => {
  test('are counted once, by workflow and reason, but not those from before the start', async () => {
    const w = await World.listed(1);
    expect(w.in).toEqual({});
    w.enter({ responseStatus: 503 });
    w.enter({ responseText: 'getaddrinfo ENOTFOUND w.example' });
    const { responseStatus: _status, ...rest } = w.enter();
    w.held.set(rest.dlqId, { ...rest, responseText: 'connect ECONNREFUSED' });
    await w.run(MINUTE);
    await w.run(MINUTE);
    await w.wholeRun();
    expect(w.in).toEqual({ http: 2, connection: 1 });
    const metric = 'msgsvc_workflow_dlq_entered_runs_total';
    const counters = w.stores.counters(ACCOUNT).filter((row) => row.metric === metric);
    expect(counters.map(({ labels }) => labels[0]!).toSorted()).toEqual([
      'w.example/mail/:id',
      'w.example/order',
      'w.example/order',
    ]);
  });

  test('report the lifetime of the run', async () => {
    const w = await World.entered();
    const at = w.clock.now();
    w.enter({ workflowCreatedAt: at - 4_000 });
    w.enter({ workflowCreatedAt: at - 20 * 86_400_000 });
    w.enter({ workflowCreatedAt: at + 1 });
    w.enter();
    await w.run();
    const [histogram] = w.stores.histograms(ACCOUNT);
    expect(histogram).toMatchObject({ metric: 'msgsvc_workflow_run_lifetime_seconds', sum: 4 + 20 * 86_400 });
    expect(histogram!.buckets).toEqual([0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
  });

  test("from the daemon's downtime are counted when it is back", async () => {
    const w = await World.listed(1);
    w.enter();
    await w.clock.advance(5 * HOUR);
    w.restart();
    await w.run();
    expect(w.in).toEqual({ http: 1 });
  });

  test('a later failure under the same id has left and entered', async () => {
    const w = await World.entered();
    const entry = w.enter();
    await w.run();
    w.acted.set(entry.dlqId, 'resumed');
    w.held.set(entry.dlqId, { ...entry, createdAt: entry.createdAt + MINUTE });
    await w.run(MINUTE);
    expect([w.in, w.out]).toEqual([{ http: 2 }, { resumed: 1 }]);
  });
});

describe('departed runs', () => {
  test('are counted with their cause, and all causes exist from the start', async () => {
    const w = new World(6 * HOUR);
    await w.run();
    const entries = [1, 2, 3, 4].map((hours) => w.enter({ createdAt: T0 - hours * HOUR, workflowUrl: URLS[0]! }));
    await w.run();
    const causes = w.stores.counters(ACCOUNT).filter(({ metric }) => metric.includes('left'));
    expect(causes.map(({ labels, value }) => [...labels, value])).toEqual(
      ['deleted', 'expired', 'other', 'resumed', 'unknown'].map((cause) => ['w.example/order', cause, 0]),
    );
    w.acted.set(entries[0]!.dlqId, 'resumed').set(entries[1]!.dlqId, 'deleted');
    for (const { dlqId } of entries.slice(0, 3)) w.held.delete(dlqId);
    await w.wholeRun();
    expect(w.out).toEqual({ resumed: 1, deleted: 1, other: 1 });
    while (w.clock.now() < T0 + 2 * HOUR) await w.wholeRun();
    expect(w.out).toEqual({ resumed: 1, deleted: 1, other: 1, expired: 1 });
  });

  test('that departed by age are other where the retention is unknown', async () => {
    const w = await World.entered({});
    w.held.clear();
    await w.run(400 * HOUR);
    expect(w.out).toEqual({ other: 1 });
  });

  test('that departed during an outage, by age or by others, are unknown', async () => {
    const w = await World.listed(0, 24 * HOUR);
    w.enter();
    await w.run();
    await w.clock.advance(30 * HOUR);
    w.restart();
    await w.run();
    expect(w.out).toEqual({ unknown: 1 });
  });

  test('are not derived from an incremental reading, nor from a listing with dropped rows', async () => {
    const w = await World.entered({}, {});
    w.held.delete('d1');
    await w.run(MINUTE);
    w.dropped = 1;
    await w.wholeRun();
    expect(w.out).toEqual({});
    w.dropped = 0;
    await w.wholeRun();
    expect(w.out).toEqual({ other: 1 });
  });

  /** Five runs on pages of two. The first leaves during the request for the second page, so the third is skipped. */
  async function shifted(byRun: World['byRun']): Promise<World> {
    const w = new World();
    w.byRun = byRun;
    w.pageSize = 2;
    await w.run();
    for (let n = 0; n < 6; n++) w.enter();
    await w.run();
    await shift(w, 'd1');
    return w;
  }

  /** A run on the first page leaves during the request for a later page, so the first run of that page is skipped. */
  async function shift(w: World, leaving: string): Promise<void> {
    w.acted.set(leaving, 'resumed');
    w.onQuery = ({ cursor }) => void (cursor === String(w.pageSize) && w.held.delete(leaving));
    await w.wholeRun();
    w.onQuery = () => undefined;
  }

  const ids = (w: World): string[] => w.previous!.rows.map(({ dlqId }) => dlqId);

  test('of a listing of several pages are requested individually: skipped runs remain, however often', async () => {
    const w = await shifted('answered');
    expect([ids(w), w.asked]).toEqual([['d1', 'd2', 'd3', 'd4', 'd5', 'd6'], ['run-3']]);
    w.pageSize = 1;
    await shift(w, 'd2');
    expect([ids(w), w.asked]).toEqual([
      ['d2', 'd3', 'd4', 'd5', 'd6'],
      ['run-3', 'run-3'],
    ]);
    await w.wholeRun();
    expect([w.in, w.out]).toEqual([{ http: 6 }, { resumed: 2 }]);
  });

  test('of a listing of several pages are counted at once when the service says that they are gone', async () => {
    const w = await shifted('answered');
    w.held.delete('d2');
    w.held.delete('d5');
    await w.wholeRun();
    expect(w.out).toEqual({ resumed: 1, other: 2 });
    expect(w.asked).toEqual(['run-3', 'run-2', 'run-5']);
    await w.wholeRun();
    w.restart();
    await w.run();
    expect([w.in, w.out]).toEqual([{ http: 6 }, { resumed: 1, other: 2 }]);
  });

  test('are counted over several listings when there are more requests than the maximum', async () => {
    const w = new World();
    w.pageSize = 100;
    await w.run();
    for (let n = 0; n < 700; n++) w.enter();
    await w.run();
    for (let n = 1; n <= 450; n++) w.held.delete(`d${n}`);
    const counted: number[] = [];
    for (let listing = 0; listing < 4; listing++) {
      await w.wholeRun();
      counted.push(w.out['other'] ?? 0);
    }
    expect(counted).toEqual([200, 400, 450, 450]);
    expect(new Set(w.asked).size).toBe(w.asked.length);
  });

  test('with an id that no request can contain block no reading, and are counted after a day', async () => {
    const w = new World();
    w.pageSize = 2;
    await w.run();
    w.enter({ workflowRunId: 'stra\u00c3\u009fe' });
    for (let n = 0; n < 5; n++) w.enter();
    await w.run();
    w.held.delete('d1');
    w.held.delete('d2');
    await w.wholeRun();
    expect([w.asked, w.out]).toEqual([['run-2'], { other: 1 }]);
    expect(w.previous!.rows).toHaveLength(4);
    await w.run(25 * HOUR);
    expect(w.out).toEqual({ other: 2 });
  });

  test('are not counted while the request fails, and after a day without a response they are', async () => {
    const w = await shifted('failing');
    w.held.delete('d2');
    for (let listing = 0; listing < 4; listing++) await w.wholeRun();
    expect(w.out).toEqual({ resumed: 1 });
    w.byRun = 'answered';
    await w.wholeRun();
    expect(w.out).toEqual({ resumed: 1, other: 1 });
    w.byRun = 'failing';
    w.held.delete('d4');
    await w.wholeRun();
    await w.run(25 * HOUR);
    expect(w.out).toEqual({ resumed: 1, other: 2 });
  });

  test.each(['refused', 'ignored'] as const)(
    'where such a request is %s count once the next listing lacks them too, unless they are explained',
    async (byRun) => {
      const w = await shifted(byRun);
      expect([ids(w), w.out]).toEqual([['d1', 'd2', 'd4', 'd5', 'd6'], {}]);
      w.held.delete('d2');
      await w.wholeRun();
      expect([ids(w), w.out]).toEqual([['d3', 'd4', 'd5', 'd6'], { resumed: 1 }]);
      await w.wholeRun();
      expect([w.in, w.out]).toEqual([{ http: 6 }, { resumed: 1, other: 1 }]);
    },
  );

  test('and reappearances are counted neither as entered nor as departed again', async () => {
    const w = await World.entered({});
    const entry = w.held.get('d1')!;
    w.held.clear();
    await w.wholeRun();
    w.held.set(entry.dlqId, entry);
    await w.wholeRun();
    w.restart();
    await w.run();
    w.held.delete(entry.dlqId);
    await w.wholeRun();
    expect([w.in, w.out]).toEqual([{ http: 1 }, { other: 1 }]);
  });

  test('are removed after a day', async () => {
    const w = await World.entered({});
    w.held.clear();
    await w.wholeRun();
    expect((await w.stores.workflowDlq.memory(ACCOUNT)).runs.size).toBe(1);
    await w.run(25 * HOUR);
    expect((await w.stores.workflowDlq.memory(ACCOUNT)).runs.size).toBe(0);
    w.restart();
    expect((await w.stores.workflowDlq.memory(ACCOUNT)).runs.size).toBe(0);
  });
});

describe('a run that the daemon resumed or deleted', () => {
  async function acted(): Promise<World> {
    const w = await World.entered({}, {}, {});
    w.held.delete('d1');
    w.act('d1', 'resumed');
    w.held.delete('d2');
    w.act('d2', 'deleted');
    return w;
  }

  test('leaves the batch and is counted within a second, and once', async () => {
    const w = await acted();
    const { at } = w.previous!;
    await w.clock.advance(1_000);
    expect(w.shown).toEqual(['d3']);
    expect(w.previous!.at).toBe(at);
    expect(w.out).toEqual({ resumed: 1, deleted: 1 });
    w.act('d1', 'resumed', 'verified');
    await w.wholeRun();
    expect([w.shown, w.in, w.out]).toEqual([['d3'], { http: 3 }, { resumed: 1, deleted: 1 }]);
  });

  test.each(['unknown', 'rejected', 'confirmed_not_applied', 'unverified', 'unresolvable'])(
    'stays where it is only known to be %s',
    async (outcome) => {
      const w = await World.listed(1);
      w.act('d1', 'resumed', outcome);
      await w.clock.advance(1_000);
      expect([w.shown, w.out]).toEqual([['d1'], {}]);
    },
  );

  test('is not shown again by a reading that began before, or by one soon after', async () => {
    const w = await World.listed(1);
    await w.clock.advance(MINUTE);
    w.enter();
    w.onQuery = () => {
      w.onQuery = () => undefined;
      w.act('d1', 'resumed');
    };
    await w.run();
    await w.clock.advance(1_000);
    expect(w.shown).toEqual(['d2']);
    // The service lists it for a while.
    await w.run(MINUTE);
    expect(w.shown).toEqual(['d2']);
    w.held.delete('d1');
    await w.wholeRun();
    expect([w.shown, w.in, w.out]).toEqual([['d2'], { http: 1 }, { resumed: 1 }]);
  });

  test('is excluded from a reading that ends after it left', async () => {
    const w = await World.listed(1);
    await w.clock.advance(15 * MINUTE);
    w.onQuery = () => {
      w.onQuery = () => undefined;
      w.board.depart(ACCOUNT, new Set(['d1']));
    };
    await w.run();
    expect(w.shown).toEqual([]);
  });

  test('is shown as long as the service lists it well after', async () => {
    const w = await World.listed(1);
    w.act('d1', 'resumed');
    await w.wholeRun();
    expect(w.shown).toEqual(['d1']);
    expect(w.out).toEqual({ resumed: 1 });
  });

  test('is counted by the next whole listing where the store failed, or the daemon ended', async () => {
    const w = await acted();
    const { workflowDlq: port } = w.stores;
    const commitWorkflowDlq = () => Promise.reject(new Error('disk full'));
    w.stores = { ...w.stores, workflowDlq: { ...port, commitWorkflowDlq } };
    await w.clock.advance(1_000);
    expect([w.shown, w.out]).toEqual([['d3'], {}]);
    expect(w.told).toContainEqual({ type: 'store.failed', operation: 'count of departures', message: 'disk full' });
    w.stores = { ...w.stores, workflowDlq: port };
    w.restart();
    await w.run();
    expect([w.shown, w.out]).toEqual([['d3'], { resumed: 1, deleted: 1 }]);
  });

  test('still counts among the failures of the last 15 minutes', async () => {
    const w = await acted();
    await w.clock.advance(1_000);
    expect(w.board.departed(ACCOUNT).map(({ dlqId }) => dlqId)).toEqual(['d1', 'd2']);
    await w.clock.advance(15 * MINUTE + 1);
    expect(w.board.departed(ACCOUNT)).toEqual([]);
  });

  test('has the action as its cause', () => {
    const actions = new Map([
      ['a', 'workflow-dlq.resume'],
      ['b', 'workflow-dlq.delete'],
    ] as const);
    expect([...departuresBy(actions).values()]).toEqual(['resumed', 'deleted']);
  });
});

describe('in any sequence of events', () => {
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.record({ do: fc.constant('enter' as const), n: fc.integer({ min: 1, max: 6 }) }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('resume', 'remove', 'race'), n: fc.nat(100) }) },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('run' as const), n: fc.integer({ min: 1, max: 20 }) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('failOnPage', 'crashOnCommit'), n: fc.nat(3) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constantFrom('restart', 'outage'), n: fc.integer({ min: 1, max: 50 }) }),
    },
  );

  test('initial + entered - departed = present, and each run is counted once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(8),
        fc.constantFrom(2, 3, 100),
        fc.array(step, { minLength: 5, maxLength: 40 }),
        async (before, pageSize, steps) => {
          const w = new World(20 * HOUR);
          w.pageSize = pageSize;
          for (let n = 0; n < before; n++) w.enter();
          await w.run();
          const removable = (): string[] =>
            (w.previous?.rows ?? []).map(({ dlqId }) => dlqId).filter((id) => w.held.has(id));
          const resumed = new Set<string>();
          const resume = (dlqId: string): void => {
            // A lost response removes no run from the batch. A listing shows its departure.
            if (resumed.size % 3 === 2) w.acted.set(dlqId, 'resumed');
            else w.act(dlqId, 'resumed');
            resumed.add(dlqId);
            w.held.delete(dlqId);
          };
          const attempt = async (): Promise<void> => {
            try {
              await w.run();
            } catch (error) {
              if (!(error instanceof FakeServiceError)) throw error;
            }
          };
          for (const { do: what, n } of steps) {
            const ids = removable();
            const chosen = ids[n % Math.max(1, ids.length)];
            switch (what) {
              case 'enter':
                for (let i = 0; i < n; i++) w.enter();
                break;
              case 'resume':
                if (chosen !== undefined) resume(chosen);
                break;
              case 'remove':
                if (chosen !== undefined) w.held.delete(chosen);
                break;
              case 'race':
                await w.clock.advance(15 * MINUTE);
                w.onQuery = ({ cursor }) => {
                  const gone = removable()[0];
                  if (cursor !== undefined && gone !== undefined) resume(gone);
                };
                await attempt();
                w.onQuery = () => undefined;
                break;
              case 'failOnPage': {
                let page = 0;
                w.onQuery = () => {
                  if (page++ === n) throw new FakeServiceError('server_error');
                };
                await w.clock.advance(15 * MINUTE);
                await attempt();
                w.onQuery = () => undefined;
                break;
              }
              case 'crashOnCommit': {
                // The process ends before or after the commit, so with or without its effect.
                const { workflowDlq: port } = w.stores;
                const crashing = { ...w.stores, workflowDlq: { ...port } };
                crashing.workflowDlq.commitWorkflowDlq = async (...commit) => {
                  if (n % 2 === 0) await port.commitWorkflowDlq(...commit);
                  throw new FakeServiceError('aborted');
                };
                w.stores = crashing;
                await w.clock.advance(n * MINUTE);
                await attempt();
                w.restart();
                break;
              }
              case 'restart':
                w.restart();
                break;
              case 'outage':
                await w.clock.advance(n * 10 * MINUTE);
                break;
              case 'run':
                await w.clock.advance(n * MINUTE);
                await attempt();
                break;
            }
          }
          // No present run was ever counted as departed, however pages shifted.
          for (const { dlqId, leftAt } of (await w.stores.workflowDlq.memory(ACCOUNT)).runs.values()) {
            if (leftAt !== undefined) expect(w.held.has(dlqId)).toBe(false);
          }
          // After two whole listings the counts are complete, whatever failed.
          w.dropped = 0;
          await w.wholeRun();
          await w.wholeRun();
          await w.wholeRun();
          const known = (await w.stores.workflowDlq.memory(ACCOUNT)).runs;
          for (const dlqId of w.held.keys()) expect(known.get(dlqId)).toMatchObject({ dlqId });
          expect(sum(w.out)).toBe(before + sum(w.in) - w.held.size);
          expect(w.out['resumed'] ?? 0).toBe(resumed.size);
          // A run may enter and depart between two readings. It is in neither sum.
          expect(sum(w.in)).toBeLessThanOrEqual(w.entered - before);
        },
      ),
      { numRuns: 100 },
    );
  });
});
