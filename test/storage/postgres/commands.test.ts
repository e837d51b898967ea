/** Commands that one replica sends to the owner of an account. */
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { all } from '#storage/database.ts';
import { createCommandTable } from '#storage/postgres/command-table.ts';
import { CommandUnknownError } from '#storage/postgres/command-requests.ts';
import { CommandWorld, type Asked, type CommandReplica, type Fate } from '../../support/postgres/command-world.ts';
import { SERVERS, type ServerName } from '../../support/postgres/servers.ts';
import { migratedUrl, opened } from '../../support/postgres/test-databases.ts';
import { until } from '../../support/until.ts';

/** Two replicas. The second one owns the account `production` and takes commands. */
async function twoOn(server: ServerName) {
  const world = await CommandWorld.create(await migratedUrl(server));
  onTestFinished(() => world.close());
  const [asker, owner] = [await world.replica('asker'), await world.replica('owner')];
  await world.give('production', owner);
  await owner.service.look();
  return { world, asker, owner };
}

const rows = (world: CommandWorld) => world.database.read(all('SELECT * FROM commands'));

async function stored(world: CommandWorld, state: string): Promise<void> {
  await until({ what: `a command is ${state}` }, async () => (await rows(world)).some((row) => row['state'] === state));
}

async function settled(asked: Asked) {
  return until({ what: 'the requester has its result' }, () => asked.settled);
}

describe.each(SERVERS)('%s', (server) => {
  test('the owner runs a command, and its requester gets the result', async () => {
    const { world, asker, owner } = await twoOn(server);
    const asked = world.send(asker, 'production', 7);
    await stored(world, 'waiting');
    await owner.service.look();
    expect(world.begun.map(({ number }) => number)).toEqual([7]);
    world.open[0]!.end({ plan: 'a' });
    await stored(world, 'done');
    await world.pass(5_000);
    expect(await settled(asked)).toEqual({ sent: { taken: true, result: { plan: 'a' } } });
    await owner.service.look();
    expect(world.begun).toHaveLength(1);
  });

  test('neither arguments nor results are readable in the database', async () => {
    const { world, asker, owner } = await twoOn(server);
    const canary = 'canary-3f1c9a';
    const command = { account: 'production', kind: 'operate', by: 'someone', arguments: { token: canary } };
    const sent = asker.requests.send(command, new AbortController().signal, 15_000);
    await stored(world, 'waiting');
    const waiting = await rows(world);
    await owner.service.look();
    world.open[0]!.end({ token: canary });
    await stored(world, 'done');
    for (const row of [...waiting, ...(await rows(world))]) {
      const bytes = Object.values(row).map((value) =>
        value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
      );
      expect(bytes.join(' ')).not.toContain(canary);
    }
    await world.pass(5_000);
    expect(await sent).toEqual({ taken: true, result: { token: canary } });
  });

  test('a command that no owner takes in time is withdrawn and never runs', async () => {
    const { world, asker, owner } = await twoOn(server);
    const asked = world.send(asker, 'production');
    const owned = [...owner.owned];
    owner.owned.clear();
    await world.pass(15_000);
    expect(await settled(asked)).toEqual({ sent: { taken: false, why: 'replica owner did not take it' } });
    for (const [account, epoch] of owned) owner.owned.set(account, epoch);
    await owner.service.look();
    expect(world.begun).toEqual([]);
    expect(await rows(world)).toEqual([]);
  });

  test('only a waiting command is withdrawn, and only one in time is taken', async () => {
    const database = opened(await migratedUrl(server));
    let now = 1_000;
    const table = () => createCommandTable(String(now));
    const insert = (id: string) =>
      database.transaction(
        table().insert({
          id,
          account: 'production',
          kind: 'count',
          by: 'someone',
          epoch: undefined,
          arguments: new Uint8Array(),
          replyKey: undefined,
          forMs: 15_000,
        }),
      );
    const take = async () => (await database.transaction(table().take('production', 1))).map(({ id }) => id);
    const withdraw = (id: string) => database.transaction(table().withdraw(id));
    await insert('waiting');
    expect(await withdraw('waiting')).toBe(1);
    await insert('taken');
    expect(await take()).toEqual(['taken']);
    expect(await withdraw('taken')).toBe(0);
    expect(await database.read(all('SELECT id, state FROM commands'))).toEqual([{ id: 'taken', state: 'taken' }]);
    await insert('late');
    now += 15_000;
    expect(await take()).toEqual([]);
  });

  test('an account without an owner, or with one that does not take commands, is reported at once', async () => {
    const { world, asker, owner } = await twoOn(server);
    expect(await settled(world.send(asker, 'staging'))).toEqual({
      sent: { taken: false, why: 'no replica owns account staging at this time' },
    });
    await world.give('staging', owner);
    expect(await settled(world.send(asker, 'staging'))).toEqual({
      sent: { taken: false, why: 'replica owner, which owns account staging, does not take commands yet' },
    });
  });

  test('an owner that lost the account does not take its commands', async () => {
    const { world, asker, owner } = await twoOn(server);
    const asked = world.send(asker, 'production');
    await stored(world, 'waiting');
    const next = await world.replica('next');
    await world.give('production', next);
    await owner.service.look();
    await next.service.look();
    expect(world.begun).toEqual([]);
    await world.pass(5_000);
    expect(await settled(asked)).toEqual({ sent: { taken: false, why: 'replica owner did not take it' } });
  });

  test('the outcome is unknown if the owner dies after it has taken the command', async () => {
    const { world, asker, owner } = await twoOn(server);
    const asked = world.send(asker, 'production');
    await stored(world, 'waiting');
    await owner.service.look();
    await owner.die();
    await world.pass(45_000);
    const { error } = (await settled(asked)) as { error: Error };
    expect(error).toBeInstanceOf(CommandUnknownError);
    expect(error.message).toBe(
      'replica owner took the command count, and its outcome is unknown: it lost account production before it reported the result. See `opsd audit --account production`',
    );
  });

  test('a requester that disconnects withdraws a waiting command, and aborts a taken one', async () => {
    const { world, asker, owner } = await twoOn(server);
    const gone = new Error('the client disconnected');
    const waiting = world.send(asker, 'production');
    await stored(world, 'waiting');
    waiting.controller.abort(gone);
    expect(await settled(waiting)).toEqual({ error: gone });
    expect(await rows(world)).toEqual([]);
    const taken = world.send(asker, 'production');
    await stored(world, 'waiting');
    await owner.service.look();
    const [begun] = world.open;
    expect(begun!.signal.aborted).toBe(false);
    taken.controller.abort(gone);
    expect(await settled(taken)).toEqual({ error: gone });
    await owner.service.look();
    expect(begun!.signal.aborted).toBe(true);
  });

  test('the owner aborts the command of a requester that has died', async () => {
    const { world, asker, owner } = await twoOn(server);
    world.send(asker, 'production');
    await stored(world, 'waiting');
    await owner.service.look();
    await asker.die();
    await world.advance(30_001);
    await owner.service.look();
    expect(world.open[0]!.signal.aborted).toBe(true);
  });

  test('a command without a result waits for the next owner', async () => {
    const { world, asker } = await twoOn(server);
    await asker.requests.post({ account: 'production', kind: 'run', by: '', arguments: { number: 3 } });
    const next = await world.replica('next');
    await world.give('production', next);
    await next.service.look();
    expect(world.begun.map(({ number, replica }) => [number, replica.name])).toEqual([[3, 'next']]);
    world.open[0]!.end(undefined);
    await stored(world, 'done');
  });

  test('commands are deleted a day after their end', async () => {
    const { world, asker } = await twoOn(server);
    await asker.requests.post({ account: 'production', kind: 'run', by: '', arguments: { number: 1 } });
    await world.advance(600_000 + 86_400_000 + 1);
    await asker.requests.post({ account: 'production', kind: 'run', by: '', arguments: { number: 2 } });
    expect(await rows(world)).toHaveLength(1);
  });
});

type Step =
  | { readonly do: 'send'; readonly from: number }
  | { readonly do: 'look' | 'give' | 'forget' | 'die'; readonly replica: number }
  | { readonly do: 'execute'; readonly which: number; readonly fate: Fate }
  | { readonly do: 'end' | 'abort'; readonly which: number }
  | { readonly do: 'advance'; readonly ms: number };

const index = fc.nat(5);
const replica = fc.nat(2);
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('send' as const), from: replica }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('look' as const), replica }) },
    {
      weight: 20,
      arbitrary: fc.record({
        do: fc.constant('execute' as const),
        which: index,
        fate: fc.constantFrom<Fate>('good', 'good', 'good', 'good', 'kept', 'lost'),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('give' as const, 'forget' as const), replica }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('die' as const), replica }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('end' as const), which: index }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('abort' as const), which: index }) },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(1_000, 5_000, 16_000, 31_000) }),
    },
  ),
  { minLength: 10, maxLength: 60 },
);

async function play(world: CommandWorld, replicas: readonly CommandReplica[], step: Step): Promise<void> {
  switch (step.do) {
    case 'send':
      if (!replicas[step.from]!.isDead) world.send(replicas[step.from]!, 'production');
      break;
    case 'look':
      if (!replicas[step.replica]!.isDead) void replicas[step.replica]!.service.look();
      break;
    case 'give':
      if (!replicas[step.replica]!.isDead) await world.give('production', replicas[step.replica]!);
      break;
    case 'forget':
      replicas[step.replica]!.owned.clear();
      break;
    case 'die':
      await replicas[step.replica]!.die();
      break;
    case 'execute':
      await world.pending.splice(step.which % Math.max(1, world.pending.length), 1)[0]?.execute(step.fate);
      break;
    case 'end':
      world.open.splice(step.which % Math.max(1, world.open.length), 1)[0]?.end('result');
      break;
    case 'abort':
      world.asked[step.which % Math.max(1, world.asked.length)]?.controller.abort(new Error('gone'));
      break;
    case 'advance':
      await world.advance(step.ms);
      break;
  }
  await world.idle();
}

test.each(SERVERS)('%s: a command runs at most once, and never after it is reported as not run', async (server) => {
  const url = await migratedUrl(server);
  let ran = 0;
  let notRun = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (plan) => {
      const world = await CommandWorld.create(url);
      const replicas = [await world.replica('one'), await world.replica('two'), await world.replica('three')];
      await world.give('production', replicas[0]!);
      await replicas[0]!.service.look();
      world.isGated = true;
      for (const step of plan) await play(world, replicas, step);
      await world.quiet();
      const alive = world.asked.filter(({ settled: one }) => one !== undefined);
      for (const { number, settled: one } of alive) {
        const runs = world.begun.filter((begun) => begun.number === number).length;
        expect(runs).toBeLessThanOrEqual(1);
        if (one === undefined || !('sent' in one)) continue;
        expect(runs).toBe(one.sent.taken ? 1 : 0);
        if (one.sent.taken) ran += 1;
        else notRun += 1;
      }
      const numbers = world.begun.map(({ number }) => number);
      expect(new Set(numbers).size).toBe(numbers.length);
      await world.close();
    }),
    { numRuns: 40 },
  );
  // The schedules reach both ends.
  expect(ran).toBeGreaterThan(5);
  expect(notRun).toBeGreaterThan(5);
});
