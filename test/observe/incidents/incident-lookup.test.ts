/** Lookups over the incidents of several replicas. */
import { expect, test } from 'vitest';
import type { Incident } from '#foundation/domain/incident.ts';
import { IncidentLookup } from '#observe/incidents/incident-lookup.ts';
import { IncidentSet } from '#observe/incidents/incident-set.ts';
import { incident } from '../../operate/http/world.ts';

const of = (account: string, id: string, overrides: Partial<Incident> = {}): Incident =>
  incident({ account, id, ...overrides });

function lookup() {
  // The store of this replica may have an older state of an account that another one owns.
  const own = IncidentSet.of(
    'production',
    [of('production', 'aaaa-1'), of('staging', 'bbbb-2')],
    [
      ['workflow', 'd-1', 'aaaa-1', 1_000],
      ['workflow', 'd-2', 'aaaa-1', 500],
    ],
  );
  const other = IncidentSet.of('staging', [of('staging', 'bbbb-2', { state: 'acknowledged' })], []);
  const sets = new Map([
    ['production', own],
    ['staging', other],
  ]);
  const accounts = [{ name: 'production', dlqRetentionMs: 10_000 }, { name: 'staging' }, { name: 'unknown' }];
  return new IncidentLookup({ accounts, setOf: (account) => sets.get(account) });
}

test('an incident is that of the set of its account, and is listed once', () => {
  const found = lookup();
  expect(found.all().map(({ id, state }) => [id, state])).toEqual([
    ['aaaa-1', 'open'],
    ['bbbb-2', 'acknowledged'],
  ]);
  expect(found.find('bbbb-2')?.state).toBe('acknowledged');
  expect(found.find('bbbb')?.state).toBe('acknowledged');
});

test('members and expiry are those of the account', () => {
  const found = lookup();
  const production = found.find('aaaa-1')!;
  expect(found.memberIds(production, 'workflow')).toEqual(['d-1', 'd-2']);
  expect(found.incidentOf('production', 'workflow', 'd-2')).toBe('aaaa-1');
  expect(found.incidentOf('unknown', 'workflow', 'd-2')).toBeUndefined();
  expect(found.firstExpiresAt(production)).toBe(10_500);
  expect(found.memberIds({ id: 'x', account: 'unknown' }, 'message')).toEqual([]);
});
