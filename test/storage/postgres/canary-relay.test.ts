/** Requests to canaries that replicas relay through the database. */
import { describe, expect, test } from 'vitest';
import type { RoundRecord } from '#observe/canary/store.ts';
import { createCanaryStore } from '#storage/canary-store.ts';
import { all, run } from '#storage/database.ts';
import { createCanaryRelay } from '#storage/postgres/canary-relay.ts';
import { LeaseLostError } from '#storage/postgres/postgres-error.ts';
import { replicaLedgers } from '../../support/postgres/replica-ledgers.ts';
import { SERVERS } from '../../support/postgres/servers.ts';
import { postgresStore } from '../../support/postgres/test-databases.ts';

const HOME = { account: 'production', canary: 'home' };
const ROUND: RoundRecord = {
  ...HOME,
  id: 'r1',
  nonce: 'nonce_with-signs_01234',
  route: 'url',
  size: 'small',
  bytes: 256,
  timeoutMs: 20_000,
  startedAt: 1_000,
  isWarmUp: false,
  arrivals: [],
};

describe.each(SERVERS)('%s', (server) => {
  test('a message is known by its nonce, on every replica', async () => {
    const database = await postgresStore(server);
    await createCanaryStore({ database }).save({ rounds: [ROUND] });
    const relay = createCanaryRelay(database);
    expect(await relay.sizeOf(HOME, ROUND.nonce)).toBe(256);
    expect(await relay.sizeOf({ ...HOME, canary: 'away' }, ROUND.nonce)).toBeUndefined();
    expect(await relay.sizeOf({ ...HOME, account: 'staging' }, ROUND.nonce)).toBeUndefined();
    expect(await relay.sizeOf(HOME, 'nonceXwith-signsX01234')).toBeUndefined();
    expect(await relay.sizeOf(HOME, 'nonce')).toBeUndefined();
  });

  test('what arrived is read in its order, and deleted with the change that applies it', async () => {
    const database = await postgresStore(server);
    const [relay, store] = [createCanaryRelay(database), createCanaryStore({ database })];
    const { nonce } = ROUND;
    const id = await relay.put(HOME, { kind: 'message', nonce, altered: false });
    await relay.put({ ...HOME, canary: 'away' }, { kind: 'probe', nonce });
    await relay.put(HOME, { kind: 'answered', nonce, of: id, answerMs: 3 });
    const found = await relay.read(HOME);
    expect(found.map(({ fact }) => fact)).toEqual([
      { kind: 'message', nonce, altered: false },
      { kind: 'answered', nonce, of: id, answerMs: 3 },
    ]);
    for (const { agoMs } of found) expect(agoMs).toBeGreaterThanOrEqual(0);
    await store.save({ rounds: [ROUND], relayed: id });
    expect(await relay.read(HOME)).toHaveLength(1);
    await relay.delete(
      HOME,
      found.map((one) => one.id),
    );
    expect(await relay.read(HOME)).toEqual([]);
    // The requests to a canary that no one sends any more do not stay.
    await database.transaction(run('UPDATE canary_arrivals SET at = at - 3600001'));
    await relay.put(HOME, { kind: 'probe', nonce });
    expect(await database.read(all('SELECT canary FROM canary_arrivals'))).toEqual([{ canary: 'home' }]);
  });

  test('a replica that has lost the account deletes nothing', async () => {
    const replicas = await replicaLedgers(server);
    const [before, after] = [await replicas.open(), await replicas.open()];
    await replicas.give(before, HOME.account);
    await replicas.give(after, HOME.account);
    const id = await createCanaryRelay(after.database).put(HOME, { kind: 'probe', nonce: ROUND.nonce });
    await expect(createCanaryRelay(before.database).delete(HOME, [id])).rejects.toThrow(LeaseLostError);
    await createCanaryRelay(after.database).delete(HOME, [id]);
    expect(await createCanaryRelay(after.database).read(HOME)).toEqual([]);
  });
});
