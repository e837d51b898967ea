/** Store of the views that the replicas show of their accounts. */
import type { NewView, StoredView, ViewStore } from '#operate/views/view-store.ts';
import { all, each, get, run, type Database, type Work } from '../database.ts';
import { DATABASE_CLOCK } from './lease-table.ts';
import { POSTGRES } from './translate.ts';

/** A view that is lost in a crash of the server is written again with the next change. */
const NOT_AWAITED = 'SET LOCAL synchronous_commit = off';

/** The time must differ from that of the view before, even if the clock was set back. */
const PUT = `INSERT INTO views (account, at, body) VALUES (?1, ${DATABASE_CLOCK}, ?2)
  ON CONFLICT (account) DO UPDATE SET body = excluded.body,
    at = CASE WHEN views.at = excluded.at THEN excluded.at + 1 ELSE excluded.at END`;
const PUT_SLICE = 'INSERT INTO view_slices (account, id, body) VALUES (?, ?, ?) ON CONFLICT (account, id) DO NOTHING';
const DROP_SLICES = `DELETE FROM view_slices WHERE account = ?1 AND id NOT IN ${POSTGRES.members('?2')}`;
const SELECT_SLICES = `SELECT id, body FROM view_slices WHERE account = ?1 AND id IN ${POSTGRES.members('?2')}`;

export function createViewStore(database: Database): ViewStore {
  return {
    async times() {
      const rows = await database.read(
        all(
          `SELECT account, at, ${DATABASE_CLOCK} AS now FROM views UNION ALL SELECT CAST(NULL AS TEXT), 0, ${DATABASE_CLOCK}`,
        ),
      );
      const views = rows.flatMap(({ account, at }) =>
        account === null ? [] : [[String(account), Number(at)] as const],
      );
      return { now: Number(rows[0]!['now']), views: new Map(views) };
    },
    read: (account, wanted) => database.read(readView(account, wanted)),
    slices: async (account) =>
      (await database.read(all('SELECT id FROM view_slices WHERE account = ?', account))).map(({ id }) => String(id)),
    write: (view) => database.transaction(writeView(view), view.account),
  };
}

function* readView(account: string, wanted: (body: Uint8Array) => readonly string[]): Work<StoredView | undefined> {
  const row = yield* get('SELECT at, body FROM views WHERE account = ?', account);
  if (row === undefined) return undefined;
  const body = row['body'] as Uint8Array;
  const ids = wanted(body);
  const slices = ids.length === 0 ? [] : yield* all(SELECT_SLICES, account, JSON.stringify(ids));
  return {
    at: Number(row['at']),
    body,
    slices: new Map(slices.map(({ id, body: bytes }) => [String(id), bytes as Uint8Array])),
  };
}

function* writeView({ account, body, added, slices }: NewView): Work<void> {
  yield* run(NOT_AWAITED);
  yield* each(PUT_SLICE, added, ([id, bytes]) => [account, id, bytes]);
  if (slices !== undefined) yield* run(DROP_SLICES, account, JSON.stringify(slices));
  yield* run(PUT, account, body);
}
