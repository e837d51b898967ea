/** Commands while the accounts of replicas have no owner, or move from one to another. */
import { expect, test } from 'vitest';
import { CommandGate } from '#app/commands.ts';
import type { Generation } from '#app/generation.ts';
import type { AccountLease } from '#operate/contract/status.ts';
import { routedCommands, runHere } from '#app/routed-commands.ts';
import { carried, Routing } from '#app/routing.ts';
import type { EngineCommands, Refusal } from '#automate/ledger/commands.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { LeaseLostError, StoreError } from '#storage/store-error.ts';
import { until } from '../support/until.ts';

const never = new AbortController().signal;
const MANUAL = { by: 'op', reason: 'test', selection: { account: 'production', action: 'resume' as const } };
const LOST = new LeaseLostError('production', 3, 4);

interface WorldGiven {
  readonly engine: Partial<EngineCommands>;
  /** Owners of the accounts; this replica is `one`. */
  readonly owners: Readonly<Record<string, string | undefined>>;
  /** Runs a command at another replica. */
  readonly send?: (account: string) => unknown;
}

function world({ engine, owners, send }: WorldGiven) {
  const clock = new ManualClock(0);
  const sent: string[] = [];
  const accounts = new Map(Object.entries(owners));
  const named = (names: readonly string[]) => ({
    accounts: names.map((name) => ({ name, messageApi: {} })),
    policies: [],
  });
  const generation = () => {
    const own = [...accounts].flatMap(([account, owner]) => (owner === 'one' ? [account] : []));
    return { config: named(own), whole: named([...accounts.keys()]), policies: { engine } } as unknown as Generation;
  };
  const routing = new Routing({
    generation,
    clock,
    peers: {
      requests: {
        async send({ account }) {
          sent.push(account);
          return { taken: true, result: { is: 'result', value: await send!(account) } };
        },
        post: () => Promise.resolve(),
      },
    },
    replica: {
      owners: () =>
        new Map(
          [...accounts].map(([account, replica]): [string, AccountLease] => [
            account,
            { epoch: 1, isOwn: replica === 'one', ...(replica !== undefined && { replica }) },
          ]),
        ),
    },
  });
  const ledger = { storedPlan: () => Promise.resolve(undefined), storedPlans: () => Promise.resolve([]) };
  const deps = { gate: new CommandGate(), generation, routing, ledger, clock };
  return { accounts, clock, sent, deps, commands: routedCommands(deps) };
}

const unknownId = (accounts: string): Refusal => ({
  ok: false,
  code: 'unknown_id',
  message: `The id x is unknown (accounts: ${accounts}).`,
});

test('a manual plan whose account moves meanwhile is made by the next owner', async () => {
  const { accounts, clock, sent, commands } = world({
    engine: { planManually: () => Promise.reject(LOST) },
    owners: { production: 'one' },
    send: () => ({ ok: true, plan: { id: 'by two' } }),
  });
  const planned = commands.planManually(MANUAL, never);
  await until({ what: 'the wait for the next owner' }, () => clock.timers > 0);
  accounts.set('production', 'two');
  await clock.advance(500);
  expect(await planned).toEqual({ ok: true, plan: { id: 'by two' } });
  expect(sent).toEqual(['production']);
});

test('a command whose account gets no owner again was not run, and can be repeated', async () => {
  const { clock, commands } = world({
    engine: { planManually: () => Promise.reject(LOST) },
    owners: { production: 'one' },
  });
  const planned = commands.planManually(MANUAL, never);
  const error = planned.catch((reason: unknown) => reason);
  for (let waited = 0; waited < 16_000; waited += 500) {
    await until({ what: 'the next attempt' }, () => clock.timers > 0);
    await clock.advance(500);
    if (waited >= 14_500) break;
  }
  expect(await error).toMatchObject({
    status: 503,
    code: 'not_run',
    message: 'The command was not run: its account moves to another replica. Try again.',
    headers: { 'Retry-After': '10' },
  });
});

test('a failure of the store is a response, here and at the owner of the account', async () => {
  const { commands, deps } = world({
    engine: { planManually: () => Promise.reject(new StoreError('db:5432/opsd: the store is unavailable: gone')) },
    owners: { production: 'one' },
  });
  const message = 'db:5432/opsd: the store is unavailable: gone. Repeat the command when the store is back.';
  const expected = { status: 503, code: 'store_unavailable', message };
  await expect(commands.planManually(MANUAL, never)).rejects.toMatchObject(expected);
  const asked = { account: 'production', kind: 'planManually', arguments: [MANUAL] };
  expect(await carried(() => runHere(deps, asked, never))).toEqual({ is: 'http', ...expected });
});

test('the owner that loses the account tells the requester to look for the next one', async () => {
  const { deps } = world({
    engine: { planManually: () => Promise.reject(LOST) },
    owners: { production: 'one' },
  });
  const asked = { account: 'production', kind: 'planManually', arguments: [MANUAL] };
  expect(await carried(() => runHere(deps, asked, never))).toEqual({ is: 'moved' });
});

test.each<[string, string[], () => unknown, object]>([
  [
    'found by the replica that knows it, although another account has no owner',
    ['test'],
    () => ({ ok: true, id: 'x', subject: { account: 'staging' } }),
    { ok: true, id: 'x', subject: { account: 'staging' } },
  ],
  [
    'not called unknown while an account has no owner',
    ['test'],
    () => unknownId('staging'),
    {
      ok: false,
      code: 'unread',
      message:
        'The id x is unknown (accounts: production). The id x is unknown (accounts: staging). No owner of test is known at this time, so the id was not searched there. Try again.',
    },
  ],
  [
    'unknown if all replicas have searched for it',
    [],
    () => unknownId('staging'),
    expect.objectContaining({ code: 'unknown_id' }),
  ],
  [
    'not called unknown if a replica could not search for it',
    [],
    () => Promise.reject(new Error('replica two is away')),
    { ok: false, code: 'unread', message: 'The id x is unknown (accounts: production). replica two is away' },
  ],
])('an id is %s', async (_what, unowned, send, explained) => {
  const { commands, sent } = world({
    engine: { explain: () => Promise.resolve(unknownId('production')) },
    owners: { production: 'one', staging: 'two', ...Object.fromEntries(unowned.map((name) => [name, undefined])) },
    send,
  });
  expect(await commands.explain('x', never)).toEqual(explained);
  expect(sent).toEqual(['staging']);
});

test.each([
  ['another replica owns an account', { production: 'one', staging: 'two' }],
  ['an account has no owner', { production: 'one', staging: undefined }],
  ['this replica owns everything, as far as it knows', { production: 'one' }],
])('a pause of the engine that cannot be stored holds here only: %s', async (_case, owners) => {
  const paused: unknown[] = [];
  const { commands } = world({
    engine: {
      pause: async (pause) => void paused.push(pause),
      unwrittenPauses: () => new Map([['engine', {}]]),
    } as Partial<EngineCommands>,
    owners,
  });
  await expect(commands.pause({ reason: 'odd', by: 'op' })).rejects.toMatchObject({
    status: 503,
    code: 'store_unavailable',
  });
  expect(paused).toHaveLength(1);
});
