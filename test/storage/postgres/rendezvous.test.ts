import fc from 'fast-check';
import { expect, test } from 'vitest';
import { replicaFor } from '#storage/postgres/rendezvous.ts';

const ACCOUNTS = Array.from({ length: 600 }, (_, n) => `account-${n}`);
const replicas = (...names: readonly string[]) => names.map((name) => ({ id: `${name}/1`, name }));

test('an account moves only to a replica that came, or from one that went', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 6 }),
      fc.string(),
      (names, account) => {
        const before = replicaFor(account, replicas(...names.slice(1)));
        const after = replicaFor(account, replicas(...names));
        expect([before, `${names[0]}/1`]).toContain(after);
        expect(replicaFor(account, replicas(...names).toReversed())).toBe(after);
      },
    ),
  );
  expect(replicaFor('a', [])).toBeUndefined();
});

test('each replica gets about the same number of accounts', () => {
  const owners = Map.groupBy(ACCOUNTS, (account) => replicaFor(account, replicas('a', 'b', 'c')));
  for (const owned of owners.values()) expect(owned.length).toBeGreaterThan(150);
  expect(owners.size).toBe(3);
});

test('a restarted process gets the accounts that its replica had', () => {
  const [a, b] = replicas('a', 'b');
  const owned = ACCOUNTS.filter((account) => replicaFor(account, [a!, b!]) === a!.id);
  const again = { id: 'a/2', name: 'a' };
  expect(ACCOUNTS.filter((account) => replicaFor(account, [again, b!]) === again.id)).toEqual(owned);
  // While the old process is not known to be dead, exactly one of the two has each account.
  expect(ACCOUNTS.filter((account) => replicaFor(account, [a!, again, b!]) !== b!.id)).toEqual(owned);
});
