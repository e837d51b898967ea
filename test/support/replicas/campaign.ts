/** Rounds of faults against replicas with live traffic, and the checks of every round and of the end. */
import { expect } from 'vitest';
import { systemClock } from '#foundation/platform/clock.ts';
import { verifyTable } from '#storage/postgres/audit-table.ts';
import { opened } from '../postgres/test-databases.ts';
import { until } from '../until.ts';
import { FAULTS, strike, type FaultName } from './faults.ts';
import { INTENTS, judgeActions, judgeLeases, judgeLog, type IntentRow } from './verdict.ts';
import type { Takeover } from './takeovers.ts';
import { startWorld, type World, type WorldOptions } from './world.ts';

export interface CampaignOptions extends Omit<WorldOptions, 'perHour'> {
  readonly rounds: number;
  readonly faults?: readonly FaultName[];
  /** Called after each round, with a line about it. */
  readonly onRound?: (line: string) => void;
}

/** Actions in a round, on average: fewer than there is work for, so that the limit of all policies is reached. */
const ACTIONS_PER_ROUND = 12;
/** Time after which the outcome of an action without a response is determined. */
const LATER_MS = 61 * 60_000;

export async function replicaCampaign({ rounds, faults = FAULTS, onRound, ...options }: CampaignOptions) {
  const perHour = rounds * ACTIONS_PER_ROUND;
  const world = await startWorld({ ...options, perHour });
  const { emulator, witness, takeovers, handovers, below } = world;
  loseResponses(world);
  const struck: Record<string, number> = {};
  let order: FaultName[] = [];
  for (let round = 0; round < rounds; round += 1) {
    // Every fault strikes equally often.
    if (order.length === 0) order = faults.toSorted(() => below(3) - 1);
    const taken = takeovers.all.length;
    const end = world.traffic.run();
    const { fault, point } = await strike(world, order.pop()!);
    await end();
    await world.settled();
    takeovers.forget();
    handovers.forget();
    expect(witness.violations).toEqual([]);
    struck[`${fault} at ${point}`] = (struck[`${fault} at ${point}`] ?? 0) + 1;
    const { count, worstMs } = byFault(takeovers.all.slice(taken));
    onRound?.(`round ${round + 1}: ${fault} at ${point}; ${count} takeovers, the longest took ${worstMs} ms`);
  }
  emulator.control.faults.clear();
  // The last actions still add entries to the log.
  const settled = { what: 'the metrics match the log', pauseMs: 1_000 };
  const entries = await until(settled, () => judgeLog(world));
  await resolveUnknown(world);
  world.record.take();
  const { server, accounts } = world;
  const intents = await server.rows<IntentRow>(INTENTS);
  const actions = judgeActions(world.record.actions, intents, { accounts, perHour });
  const leaseChanges = judgeLeases(await server.leaseChanges(), world.writes);
  expect((await opened(server.url).read(verifyTable())).finding).toBeUndefined();
  return {
    rounds,
    struck,
    entries,
    ...actions,
    leaseChanges,
    scrapes: witness.looks,
    takeovers: byFault(takeovers.all),
    handovers: figures(handovers.all.map(({ ms }) => ms)),
    staleSeries: figures(witness.stale),
  };
}

/** Lets responses of the service get lost. */
function loseResponses({ emulator }: World): void {
  for (const [operations, probability] of [
    [['resume-workflow-dlq', 'delete-dlq'], 0.1],
    [['list-logs', 'list-workflow-dlq'], 0.03],
  ] as const) {
    for (const fault of [{ kind: 'lost' }, { kind: 'truncated' }, { kind: 'status', status: 503 }] as const) {
      emulator.control.faults.add({ operations, probability: probability / 3, fault });
    }
  }
}

/** Stops all replicas, and starts one an hour later, which determines unknown outcomes. */
async function resolveUnknown({ emulator, hosts, server }: World): Promise<void> {
  // From when an outcome is unknown, and not from the request, the next owner waits for a lost response.
  await until({ what: 'each action has an outcome' }, async () =>
    (await server.rows<IntentRow>(INTENTS)).every(({ outcome }) => outcome !== null),
  );
  await Promise.all(hosts.map((host) => host.stop()));
  await emulator.advance(LATER_MS);
  const [host] = hosts;
  const program = host!.start(emulator.control.clock().now - systemClock.now());
  await program.logged('daemon running');
  // Longer than the pause of a minute between two listings of an account: one of them may fail.
  await until({ what: 'all outcomes are known', pauseMs: 500 }, async () => {
    const open = (await server.rows<IntentRow>(INTENTS)).filter(
      ({ outcome }) => outcome === null || outcome === 'unknown',
    );
    if (open.length > 0) throw new Error(JSON.stringify(open));
    return true;
  });
  await host!.stop();
}

/** Figures of all takeovers, and of those after each fault. */
function byFault(all: readonly Takeover[]) {
  const groups = Map.groupBy(all, ({ fault }) => fault);
  const each = [...groups].map(([fault, some]) => [fault, figures(some.map(({ ms }) => ms))] as const);
  return { ...figures(all.map(({ ms }) => ms)), byFault: Object.fromEntries(each) };
}

function figures(times: readonly number[]) {
  const sorted = times.map(Math.round).toSorted((a, b) => a - b);
  return { count: sorted.length, medianMs: sorted[sorted.length >> 1] ?? 0, worstMs: sorted.at(-1) ?? 0 };
}
