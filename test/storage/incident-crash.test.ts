/** A process may end at any time while it groups: no incident opens twice, and no member is lost or counted twice. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { IncidentBook } from '#observe/incidents/incident-book.ts';
import { createIncidentStore } from '#storage/incident-store.ts';
import { openStore } from '#storage/sqlite.ts';
import { tempDir } from '../support/temp-dir.ts';
import { GROUPED, groupedReading } from './grouped-reading.ts';
import { dying } from './programs/dying.ts';

test.each([0, 1, 2])('killed after %i commits', async (commits) => {
  const path = join(tempDir(), 'opsd.db');
  await dying('die-while-grouping', path, String(commits));
  using store = openStore(path);
  const before = await createIncidentStore(store).load();
  expect(before.reduce((sum, { ever }) => sum + ever, 0) > 0).toBe(commits > 0);
  const book = await IncidentBook.open(createIncidentStore(store));
  for await (const _part of book.take(groupedReading()));
  const after = [...book.present.all()];
  expect(after).toHaveLength(6);
  expect(after.map(({ ever, now }) => [ever, now.workflow])).toEqual(after.map(() => [GROUPED / 6, GROUPED / 6]));
  expect(before.every(({ id }) => after.some((incident) => incident.id === id))).toBe(true);
});
