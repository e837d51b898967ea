/** Marks of started configurations and versions, by replicas that share a store. */
import { expect, test } from 'vitest';
import { createMarks } from '#app/incidents.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
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

test('marks do not alternate while replicas have different versions and configurations', async () => {
  const shared = store();
  const clock = new ManualClock(1_000);
  const old = createMarks({ clock, version: '1.0.0' });
  await old({ hash: 'first' }, shared);
  const upgraded = createMarks({ clock, version: '2.0.0' });
  await upgraded({ hash: 'second' }, shared);
  // Accounts move from one replica to the other, and back.
  await old({ hash: 'first' }, shared);
  await upgraded({ hash: 'second' }, shared);
  expect(shared.details()).toEqual(['first', '1.0.0', 'second', '2.0.0']);
  await old({ hash: 'second' }, shared);
  expect(shared.details()).toEqual(['first', '1.0.0', 'second', '2.0.0']);
});

test('each configuration that starts is marked, also an earlier one', async () => {
  const shared = store();
  const mark = createMarks({ clock: new ManualClock(1_000), version: '1.0.0' });
  for (const hash of ['first', 'second', 'second', 'first']) await mark({ hash }, shared);
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
  await expect(mark({ hash: 'first' }, { mark: () => Promise.reject(new Error('away')) })).rejects.toThrow('away');
  await mark({ hash: 'first' }, shared);
  expect(shared.details()).toEqual(['first', '1.0.0']);
});
