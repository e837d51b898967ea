/** The ledger of several replicas: who may write what, and what each engine reads. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Campaign } from '#foundation/domain/campaign.ts';
import type { BegunOperation } from '#automate/ledger/operations.ts';
import type { CapLimit, Premises } from '#automate/ledger/intents.ts';
import type { Ledger } from '#automate/ledger/ledger.ts';
import { newestBudget } from '#foundation/domain/known-budget.ts';
import { all, run } from '#storage/database.ts';
import { LeaseLostError } from '#storage/postgres/postgres-error.ts';
import { engineLedger, replicaLedgers, type ReplicaLedger } from '../../support/postgres/replica-ledgers.ts';
import { SERVERS } from '../../support/postgres/servers.ts';
import { NO_CAPS, planOf, raiseTo, resumeOf } from '../../support/ledger-facts.ts';

const NOW = Date.UTC(2026, 10, 18, 10);
const HOUR = 3_600_000;
const BACKUP_PAGE = readFileSync(join(import.meta.dirname, '../../../docs/backup.md'), 'utf8');
const HASH = '77'.padEnd(64, '0');

const [a, b] = ['a', 'b'].map((account) => ({ account, policy: `repair-${account}` }));
const place = { name: a!.policy, account: 'a' };

const planned = (of: typeof a, change: Parameters<typeof planOf>[0] = {}) => planOf({ ...of, ...change });
const savedOf = (of: typeof a, hash: string, state: 'draft' | 'pending' | 'approved' = 'pending') => ({
  plan: planned(of, { id: hash.slice(0, 6), hash }),
  targets: [],
  savedAt: NOW,
  expiresAt: NOW + HOUR,
  state,
});

const operationOn = (account: string, change: Partial<BegunOperation> = {}): BegunOperation => ({
  operation: 'update-budget',
  account,
  keys: [],
  by: 'oncall',
  at: NOW,
  ...change,
});

async function intentOn(ledger: Ledger, of: typeof a, dlqId = 'dlq-1', at = NOW): Promise<number> {
  const reserved = await ledger.reserve(await ledger.beginRun(planned(of), at), resumeOf(dlqId, of), at, NO_CAPS);
  if (!reserved.ok) throw new Error(reserved.reason);
  return reserved.intent.id;
}

const campaignOf = (of: typeof a): Campaign => ({
  ...of!,
  id: '',
  group: 'g',
  state: 'ready',
  step: 1,
  size: 1,
  begunAt: NOW,
  halts: 0,
  recent: [],
  judged: 0,
  verified: 0,
});

const LETTER = { account: 'a', dlqId: 'dlq-9', messageId: 'm', learnedAt: NOW, labels: [] };
const BODY = { size: 1, content: Uint8Array.of(1), limits: { keep: 9, maxTotal: 9 } };

/** Everything that a write may change. */
const CONTENT = [
  'audit',
  'intents',
  'outcomes',
  'runs',
  'plans',
  'campaigns',
  'operations',
  'triggers',
  'dead_letters',
  'dead_letter_bodies',
];
const MEMORY = [
  'policy_matches',
  'policy_versions',
  'policy_conditions',
  'watched_accounts',
  'incident_acknowledgments',
];

/** Returns all rows, in one transaction. */
function contentOf({ database }: ReplicaLedger): Promise<unknown> {
  return database.read(
    (function* () {
      const found: unknown[] = [];
      for (const table of [...CONTENT, ...MEMORY]) {
        const rows = yield* all(`SELECT * FROM ${table}`);
        found.push([table, rows.map((row) => JSON.stringify(row)).toSorted()]);
      }
      return found;
    })(),
  );
}

describe.each(SERVERS)('%s', (server) => {
  describe('writes', () => {
    interface Present {
      readonly ledger: Ledger;
      readonly intent: number;
      readonly run: number;
      readonly operation: number;
    }

    const WRITES: readonly (readonly [string, (present: Present) => Promise<unknown>])[] = [
      ['beginRun', ({ ledger }) => ledger.beginRun(planned(a), NOW)],
      [
        'finishRun',
        ({ ledger, run: id }) =>
          ledger.finishRun(id, 'a', { at: NOW, outcome: 'acted', matched: 1, acted: 1, backlog: 0 }),
      ],
      ['recordRun', ({ ledger }) => ledger.recordRun(planned(a), NOW, { at: NOW, outcome: 'nothing_to_do', acted: 0 })],
      ['reserve', ({ ledger, run: id }) => ledger.reserve(id, resumeOf('dlq-2', a), NOW, NO_CAPS)],
      ['recordOutcome', ({ ledger, intent }) => ledger.recordOutcome(intent, 'a', { at: NOW, outcome: 'unknown' })],
      ['savePlan', ({ ledger }) => ledger.savePlan(savedOf(a, '88'.padEnd(64, '0')))],
      [
        'decidePlan of the engine',
        ({ ledger }) => ledger.decidePlan('770000', { state: 'applied', at: NOW, by: 'engine', account: 'a' }),
      ],
      ['changeCampaign', ({ ledger }) => ledger.changeCampaign({ ...a!, group: 'g' }, () => campaignOf(a))],
      ['beginOperation', ({ ledger }) => ledger.beginOperation(operationOn('a'))],
      [
        'endOperation',
        ({ ledger, operation }) => ledger.endOperation(operation, 'a', { at: NOW, outcome: 'accepted' }),
      ],
      ['endInterruptedOperations', ({ ledger }) => ledger.endInterruptedOperations(NOW)],
      [
        'endTriggers',
        ({ ledger }) => ledger.endTriggers(place, [{ trigger: { kind: 'callback', key: 'k' }, at: NOW }]),
      ],
      ['retainBodies', ({ ledger }) => ledger.retainBodies('a', { keep: 5, maxTotal: 0 })],
      ['forgetDeadLetter', ({ ledger }) => ledger.forgetDeadLetter('a', 'dlq-9')],
      ['noteMatches', ({ ledger }) => ledger.noteMatches(place, ['dlq-1'], NOW)],
      ['savePolicyVersion', ({ ledger }) => ledger.savePolicyVersion(place, { scope: {}, auditRuns: 1 })],
      ['saveCondition', ({ ledger }) => ledger.saveCondition(place, { since: NOW, last: NOW, readings: 1 })],
      ['saveCondition of none', ({ ledger }) => ledger.saveCondition(place, undefined)],
      ['noteAccounts', ({ ledger }) => ledger.noteAccounts([{ account: 'a', id: 'acc-1' }], NOW)],
      [
        'acknowledgeIncident',
        ({ ledger }) => ledger.acknowledgeIncident({ id: 'i', account: 'a' }, { by: 'oncall', note: '', at: NOW }),
      ],
    ];

    test('all of them are refused after the account has another owner, and nothing changes', async () => {
      const replicas = await replicaLedgers(server);
      const [one, other] = [await replicas.open(), await replicas.open()];
      await replicas.give(one, 'a');
      const { ledger } = one;
      const intent = await intentOn(ledger, a);
      const begun = await ledger.beginOperation(operationOn('a'));
      await ledger.savePlan(savedOf(a, HASH));
      await ledger.recordTrigger({ ...a!, trigger: { kind: 'callback', key: 'k' }, at: NOW });
      await ledger.noteDeadLetter(LETTER, BODY);
      const present = { ledger, intent, run: 1, operation: begun.ok ? begun.id : 0 };
      await replicas.give(other, 'a');
      for (const [name, write] of WRITES) {
        const before = await contentOf(other);
        await expect(write(present), name).rejects.toBeInstanceOf(LeaseLostError);
        expect(await contentOf(other), name).toEqual(before);
        // The owner writes the same.
        await write({ ...present, ledger: other.ledger });
      }
    });

    test('whoever gets a hook, a pause or a decision stores it, also without a lease', async () => {
      const replicas = await replicaLedgers(server);
      const [owner, { ledger }] = [await replicas.open(), await replicas.open()];
      await replicas.give(owner, 'a');
      await owner.ledger.savePlan(savedOf(a, HASH));
      const trigger = { kind: 'callback', key: 'k' } as const;
      expect(await ledger.recordTrigger({ ...a!, trigger, at: NOW })).toBe(true);
      expect(await ledger.noteAlert({ receiver: 'am', name: 'Down', key: 'am/1', isFiring: true, at: NOW })).toBe(true);
      await ledger.noteDeadLetter(LETTER, BODY);
      await ledger.pause({ scope: 'engine', reason: 'stop', at: NOW, by: 'oncall' });
      expect(await ledger.decidePlan('770000', { state: 'approved', at: NOW, by: 'oncall' })).toBe(true);
      expect(await owner.ledger.pendingTriggers([place], NOW)).toEqual(new Map([[place.name, [{ trigger, at: NOW }]]]));
      expect(await owner.ledger.deadLetters('a', 9)).toHaveLength(1);
      expect(await owner.ledger.bodyBytes()).toEqual(new Map([['a', 1]]));
      expect(await owner.ledger.pauses()).toHaveLength(1);
      expect(await owner.ledger.storedPlans(['approved'], NOW)).toHaveLength(1);
      expect(await ledger.unpause({ at: NOW, reason: 'go', by: 'oncall' })).toBe(1);
      expect(await owner.ledger.pauses()).toEqual([]);
    });
  });

  describe('the lease', () => {
    test('it is lost with the epoch, not with another opening of the store', async () => {
      const replicas = await replicaLedgers(server);
      const one = await replicas.open();
      await replicas.give(one, 'a', 'b');
      const other = await replicas.open();
      expect(await one.ledger.leaseLost('a', 'b')).toBeUndefined();
      expect(await other.ledger.leaseLost('a')).toContain('another replica owns account a');
      await replicas.give(other, 'b');
      expect(await one.ledger.leaseLost('a')).toBeUndefined();
      expect(await one.ledger.leaseLost('a', 'b')).toContain(
        'the database has epoch 2 of the lease, and this replica has 1',
      );
      expect(await other.ledger.leaseLost('b')).toBeUndefined();
      // The local clock says that the lease has ended.
      one.epochs.delete('a');
      expect(await one.ledger.leaseLost('a')).toContain('this replica has none');
    });

    test('another store under the same address is no permission', async () => {
      const replicas = await replicaLedgers(server);
      const one = await replicas.open();
      await replicas.give(one, 'a');
      await one.database.transaction(run(`UPDATE meta SET value = 'strange' WHERE key = 'instance'`));
      expect(await one.ledger.leaseLost('a')).toContain('the store is now strange');
      const reserved = await one.ledger.reserve(1, resumeOf('dlq-1', a), NOW, NO_CAPS);
      expect(reserved).toMatchObject({ ok: false, guard: 'lease' });
    });

    test('a store that must be adopted holds every replica, until one of them adopts it', async () => {
      const replicas = await replicaLedgers(server);
      const [one, other] = [await replicas.open(), await replicas.open()];
      await replicas.give(one, 'a');
      const ledger = one.ledger.within(['a']);
      const reserve = async (dlqId: string) =>
        ledger.reserve(await ledger.beginRun(planned(a), NOW), resumeOf(dlqId, a), NOW, NO_CAPS);
      expect(await reserve('dlq-1')).toMatchObject({ ok: true });
      const adopt = 'restored from a backup; `opsd state adopt --reason TEXT` ends this state';
      await other.database.transaction(run(/^INSERT INTO meta .*(?=;$)/m.exec(BACKUP_PAGE)![0]));
      expect(await reserve('dlq-2')).toEqual({
        ok: false,
        guard: 'caps',
        reason: `all caps count as used up: ${adopt}`,
      });
      expect(ledger.mustBeAdopted).toBe(adopt);
      await other.ledger.leaseLost();
      expect(other.ledger.mustBeAdopted).toBe(adopt);
      await other.ledger.adopt({ at: NOW, by: 'oncall', reason: 'checked' });
      expect(await reserve('dlq-2')).toMatchObject({ ok: true });
      expect(ledger.mustBeAdopted).toBeUndefined();
    });
  });

  test('each engine reads and ends only what belongs to its accounts', async () => {
    const replicas = await replicaLedgers(server);
    const [one, other] = [await replicas.open(), await replicas.open()];
    await replicas.give(one, 'a');
    await replicas.give(other, 'b');
    for (const [{ ledger }, of, hash] of [
      [one, a, '1a'],
      [other, b, '1b'],
    ] as const) {
      const at = NOW + (of === b ? 0 : 5);
      const id = await intentOn(ledger, of, 'dlq-1', at);
      await ledger.recordOutcome(id, of!.account, { at, outcome: 'unknown' });
      await ledger.changeCampaign({ ...of!, group: 'g' }, () => campaignOf(of));
      await ledger.savePlan(savedOf(of, hash.padEnd(64, '0')));
      await ledger.beginOperation(operationOn(of!.account));
    }
    const engine = engineLedger(one);
    expect((await engine.openActions()).map(({ proposal }) => proposal.account)).toEqual(['a']);
    expect(await engine.oldestOpenAt()).toBe(NOW + 5);
    expect([...(await engine.unknownOutcomes())]).toEqual([['repair-a', 1]]);
    expect((await engine.campaigns()).map(({ account }) => account)).toEqual(['a']);
    expect((await engine.storedPlans(['pending'], NOW)).map(({ plan }) => plan.account)).toEqual(['a']);
    expect(await engine.endInterruptedOperations(NOW)).toBe(1);
    expect(await engine.endInterruptedOperations(NOW)).toBe(0);
    // Pages show everything.
    expect(await one.ledger.openActions()).toHaveLength(2);
    expect(await one.ledger.oldestOpenAt()).toBe(NOW);
    expect((await one.ledger.unknownOutcomes()).size).toBe(2);
    expect(await one.ledger.campaigns()).toHaveLength(2);
    expect(await one.ledger.storedPlans(['pending'], NOW)).toHaveLength(2);
    const nothing = one.ledger.within([]);
    expect(await nothing.openActions()).toEqual([]);
    expect(await nothing.oldestOpenAt()).toBeUndefined();
    expect(await engineLedger(other).endInterruptedOperations(NOW)).toBe(1);
  });

  describe('reserving', () => {
    /** Replicas that own one account each. */
    async function owners(accounts: readonly string[]) {
      const replicas = await replicaLedgers(server);
      return Promise.all(
        accounts.map(async (account) => {
          const replica = await replicas.open();
          await replicas.give(replica, account);
          const of = { account, policy: `repair-${account}` };
          return { ...replica, of, run: await replica.ledger.beginRun(planned(of), NOW) };
        }),
      );
    }

    type Owner = Awaited<ReturnType<typeof owners>>[0];
    let number = 0;
    const reserve = ({ ledger, of, run: id }: Owner, caps: readonly CapLimit[], items = 1, premises: Premises = {}) =>
      ledger.reserve(id, resumeOf(`dlq-${(number += 1)}`, { ...of, items }), NOW, caps, premises);

    test('at the same time on several replicas: no cap is ever exceeded, and each item below it is possible', async () => {
      const found = await owners(['a', 'b', 'c']);
      let since = 0;
      const attempt = fc.record({ owner: fc.nat(2), items: fc.integer({ min: 1, max: 3 }) });
      const limits = fc.record({ policy: fc.integer({ min: 1, max: 6 }), engine: fc.integer({ min: 1, max: 9 }) });
      await fc.assert(
        fc.asyncProperty(limits, fc.array(attempt, { minLength: 1, maxLength: 12 }), async (limit, attempts) => {
          // Each round has a day of its own.
          const at = NOW + (since += 24) * HOUR;
          const caps: CapLimit[] = [
            { scope: 'policy', windowMs: HOUR, limit: limit.policy },
            { scope: 'account', windowMs: HOUR, limit: limit.policy },
            { scope: 'engine', windowMs: HOUR, limit: limit.engine },
          ];
          const results = await Promise.all(
            attempts.map(async ({ owner, items }) => {
              const { ledger, of, run: id } = found[owner]!;
              const proposal = resumeOf(`dlq-${(number += 1)}`, { ...of, items });
              return { owner, items, ...(await ledger.reserve(id, proposal, at, caps)) };
            }),
          );
          const taken = (of?: number): number =>
            results.filter(({ ok, owner }) => ok && (of ?? owner) === owner).reduce((sum, { items }) => sum + items, 0);
          expect(taken()).toBeLessThanOrEqual(limit.engine);
          for (const owner of [0, 1, 2]) expect(taken(owner)).toBeLessThanOrEqual(limit.policy);
          // What was refused did not fit.
          for (const { ok, owner, items } of results) {
            if (ok) continue;
            const isFull = taken() + items > limit.engine || taken(owner) + items > limit.policy;
            expect(isFull).toBe(true);
          }
        }),
        { numRuns: 10 },
      );
    });

    test('a pause by another replica stops the next one at once', async () => {
      const [one, other] = await owners(['a', 'b']);
      const premises = { pauses: ['engine', 'policy/repair-a'] };
      for (const scope of premises.pauses) {
        expect(await reserve(one!, NO_CAPS, 1, premises)).toMatchObject({ ok: true });
        await other!.ledger.pause({ scope, reason: 'stop', at: NOW, by: 'oncall' });
        expect(await reserve(one!, NO_CAPS, 1, premises)).toEqual({ ok: false, guard: 'kill_switch', reason: 'stop' });
        await other!.ledger.unpause({ scope, at: NOW, reason: 'go', by: 'oncall' });
      }
      await other!.ledger.pause({ scope: 'policy/repair-b', reason: 'stop', at: NOW, by: 'oncall' });
      expect(await reserve(one!, NO_CAPS, 1, premises)).toMatchObject({ ok: true });
    });

    test('a cancel of a manual plan by another replica stops the next one at once', async () => {
      const [one, other] = await owners(['a', 'b']);
      const plan = savedOf(a, HASH, 'approved');
      await one!.ledger.savePlan(plan);
      const premises = { plans: [plan.plan.id] };
      expect(await reserve(one!, NO_CAPS, 1, premises)).toMatchObject({ ok: true });
      await other!.ledger.decidePlan(plan.plan.id, { state: 'cancelled', at: NOW, by: 'oncall', reason: 'wrong run' });
      expect(await reserve(one!, NO_CAPS, 1, premises)).toEqual({
        ok: false,
        guard: 'interrupted',
        reason: 'cancelled by oncall: wrong run',
      });
      expect(await reserve(one!, NO_CAPS, 1, { plans: ['123456'] })).toMatchObject({ ok: true });
    });
  });

  test('of an approval and the engine’s own decision at the same time, one counts', async () => {
    const replicas = await replicaLedgers(server);
    const [owner, other] = [await replicas.open(), await replicas.open()];
    await replicas.give(owner, 'a');
    for (let round = 0; round < 8; round += 1) {
      const id = `${round}`.padEnd(6, 'c');
      await owner.ledger.savePlan(savedOf(a, id.padEnd(64, '0')));
      const decisions = [
        other.ledger.decidePlan(id, { state: 'approved', at: NOW, by: 'oncall' }),
        owner.ledger.decidePlan(id, {
          state: 'replaced',
          at: NOW,
          by: 'engine',
          reason: 'other actions',
          account: 'a',
        }),
      ];
      const [isApproved, isRejected] = await Promise.all(round % 2 === 0 ? decisions : decisions.toReversed());
      expect(isApproved).not.toBe(isRejected);
      const winner = isApproved === (round % 2 === 0) ? 'approved' : 'replaced';
      expect((await owner.ledger.storedPlan(id, NOW))?.state).toBe(winner);
    }
  });

  test('the last change of a budget counts, whichever clock dated it', async () => {
    const replicas = await replicaLedgers(server);
    const [ahead, behind] = [await replicas.open(), await replicas.open()];
    await replicas.give(ahead, 'a');
    const id = await ahead.ledger.beginRun(planned(a), NOW);
    const raise = raiseTo(200, a);
    const reserved = await ahead.ledger.reserve(id, raise, NOW + 60_000, NO_CAPS);
    expect(reserved).toMatchObject({ ok: true, intent: { at: NOW + 60_000 } });
    await ahead.ledger.recordOutcome(1, 'a', { at: NOW + 60_000, outcome: 'accepted' });
    await replicas.give(behind, 'a');
    const begun = await behind.ledger.beginOperation(operationOn('a', { at: NOW + 5_000, budget: { toUsd: 50 } }));
    if (begun.ok) await behind.ledger.endOperation(begun.id, 'a', { at: NOW + 6_000, outcome: 'accepted' });
    const second = await behind.ledger.reserve(id, raiseTo(70, a), NOW + 7_000, NO_CAPS);
    expect(second).toMatchObject({ ok: true, intent: { at: NOW + 60_002 } });
    await behind.ledger.recordOutcome(2, 'a', { at: NOW + 7_000, outcome: 'accepted' });
    const changes = await behind.ledger.budgetChanges('a', 0);
    expect(changes.map(({ toUsd }) => toUsd)).toEqual([200, 50, 70]);
    expect(newestBudget(undefined, changes)?.knownUsd).toBe(70);
    // A clock that is far off dates nothing else.
    await behind.database.transaction(run('UPDATE operations SET at = ?', NOW + 24 * HOUR));
    const third = await behind.ledger.reserve(id, raiseTo(90, a), NOW + 8_000, NO_CAPS);
    expect(third).toMatchObject({ ok: true, intent: { at: NOW + 8_000 } });
  });
});
