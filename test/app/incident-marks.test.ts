/** Marks of started configurations and versions, by replicas that share a store. */
import { expect, test } from 'vitest';
import { createMarks } from '#app/incidents.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import type { Config } from '#config/config.ts';
import type { IncidentMark } from '#observe/incidents/incident-store.ts';

/** Marks of a store: one that repeats the newest of its kind is not added. */
function store() {
  const marks: IncidentMark[] = [];
  return {
    marks,
    details: () => marks.map(({ detail }) => detail),
    mark: async (mark: IncidentMark) => {
      if (marks.findLast(({ kind }) => kind === mark.kind)?.detail !== mark.detail) marks.push(mark);
    },
  };
}

const configOf = (hash: string, rest: object = {}): Config => ({ hash, policies: [], ...rest }) as unknown as Config;

test('marks do not alternate while replicas have different versions and configurations', async () => {
  const shared = store();
  const clock = new ManualClock(1_000);
  const old = createMarks({ clock, version: '1.0.0' });
  await old(configOf('first'), shared);
  const upgraded = createMarks({ clock, version: '2.0.0' });
  await upgraded(configOf('second'), shared);
  // Accounts move from one replica to the other, and back.
  await old(configOf('first'), shared);
  await upgraded(configOf('second'), shared);
  expect(shared.details()).toEqual(['first', '1.0.0', 'second', '2.0.0']);
  await old(configOf('second'), shared);
  expect(shared.details()).toEqual(['first', '1.0.0', 'second', '2.0.0']);
});

test('each configuration that starts is marked, also an earlier one', async () => {
  const shared = store();
  const mark = createMarks({ clock: new ManualClock(1_000), version: '1.0.0' });
  for (const hash of ['first', 'second', 'second', 'first']) await mark(configOf(hash), shared);
  expect(shared.marks).toEqual([
    { at: 1_000, kind: 'configuration', detail: 'first' },
    { at: 1_000, kind: 'version', detail: '1.0.0' },
    { at: 1_000, kind: 'configuration', detail: 'second' },
    { at: 1_000, kind: 'configuration', detail: 'first' },
  ]);
});

test('a mark that failed is repeated', async () => {
  const shared = store();
  const mark = createMarks({ clock: new ManualClock(1_000), version: '1.0.0' });
  await expect(mark(configOf('first'), { mark: () => Promise.reject(new Error('away')) })).rejects.toThrow('away');
  await mark(configOf('first'), shared);
  expect(shared.details()).toEqual(['first', '1.0.0']);
});

test('a mark of a reload names the changed policies and sections, and no secret', async () => {
  const shared = store();
  const mark = createMarks({ clock: new ManualClock(1_000), version: '1.0.0' });
  const policy = (name: string, mode: string, source: string) => ({ settings: { name, mode }, source });
  const [same, old] = [policy('same', 'audit', 'a.yaml:1'), policy('old', 'audit', 'a.yaml:9')];
  const next = [policy('same', 'audit', 'a.yaml:3'), policy('new', 'enforce', 'a.yaml:9')];
  await mark(configOf('first', { policies: [same, old], server: { token: 'a' }, engine: { mode: 'audit' } }), shared);
  await mark(configOf('second', { policies: next, server: { token: 'b' }, engine: { mode: 'enforce' } }), shared);
  await mark(configOf('third', { policies: next, server: { token: 'c' }, engine: { mode: 'enforce' } }), shared);
  expect(shared.details()).toEqual(['first', '1.0.0', 'second policy new, engine, policy old', 'third']);
});
