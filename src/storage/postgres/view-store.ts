/** Store of the views that the replicas show of their accounts. */
import type { Choose, NewView, StoredView, ViewStore, Wanted } from '#operate/views/view-store.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import { all, put, type Database, type Work } from '../database.ts';
import { DATABASE_CLOCK } from './lease-table.ts';
import { POSTGRES } from './translate.ts';

/** A view that is lost in a crash of the server is written again with the next change. */
const NOT_AWAITED = 'SET LOCAL synchronous_commit = off';

/** The time must differ from that of the view before, even if the clock was set back. */
const PUT = `INSERT INTO views (account, at, body) VALUES (?, ${DATABASE_CLOCK}, ?)
  ON CONFLICT (account) DO UPDATE SET body = excluded.body,
    at = CASE WHEN views.at = excluded.at THEN excluded.at + 1 ELSE excluded.at END`;
const PUT_SLICE = 'INSERT INTO view_slices (account, id, body) VALUES (?, ?, ?) ON CONFLICT (account, id) DO NOTHING';
/** Pairs of an account and the id of a slice, as two sets of the same length. */
const PAIRS = (accounts: string, ids: string): string =>
  `unnest(CAST(${accounts} AS text[]), CAST(${ids} AS text[])) AS pairs (account, id)`;
const DROP_SLICES = `DELETE FROM view_slices WHERE account IN ${POSTGRES.members('?1')}
  AND (account, id) NOT IN (SELECT account, id FROM ${PAIRS('?2', '?3')})`;
const SELECT_TIMES = `SELECT account, at, ${DATABASE_CLOCK} AS now FROM views
  UNION ALL SELECT CAST(NULL AS TEXT), 0, ${DATABASE_CLOCK}`;
const SELECT = `SELECT account, at, body FROM views WHERE account IN ${POSTGRES.members('?1')}`;
const SELECT_SLICES = `SELECT account, id, body FROM ${PAIRS('?1', '?2')} JOIN view_slices USING (account, id)`;

export function createViewStore(database: Database): ViewStore {
  return {
    read: (choose, wanted) => database.read(readViews(choose, wanted)),
    slices: async (account) =>
      (await database.read(all('SELECT id FROM view_slices WHERE account = ?', account))).map(({ id }) => String(id)),
    write: (views) =>
      database.transaction(
        () => writeViews(views),
        views.map(({ account }) => account),
      ),
  };
}

function* readViews(choose: Choose, wanted: Wanted): Work<ReadonlyMap<string, StoredView>> {
  const times = yield* all(SELECT_TIMES);
  const ofAccounts = times.flatMap(({ account, at }) =>
    account === null ? [] : [[String(account), Number(at)] as const],
  );
  const accounts = choose({ now: Number(times[0]!['now']), views: new Map(ofAccounts) });
  if (accounts.length === 0) return new Map();
  const rows = yield* all(SELECT, JSON.stringify(accounts));
  const views = rows.map((row) => ({
    account: String(row['account']),
    at: Number(row['at']),
    body: row['body'] as Uint8Array,
  }));
  const found = yield* slicesOf(views.map(({ account, body }) => ({ account, slices: wanted(account, body) })));
  return new Map(
    views.map(({ account, at, body }) => [account, { at, body, slices: found.get(account) ?? new Map() }]),
  );
}

type OfAccount = Required<Pick<NewView, 'account' | 'slices'>>;

function* slicesOf(wanted: readonly OfAccount[]): Work<ReadonlyMap<string, Map<string, Uint8Array>>> {
  const slices = new Map<string, Map<string, Uint8Array>>();
  if (wanted.every((one) => one.slices.length === 0)) return slices;
  for (const { account, id, body } of yield* all(SELECT_SLICES, ...pairs(wanted))) {
    getOrAdd(slices, String(account), () => new Map()).set(String(id), body);
  }
  return slices;
}

function* writeViews(views: readonly NewView[]): Work<void> {
  yield* put(NOT_AWAITED, [[]]);
  const added = views.flatMap(({ account, added: slices }) =>
    [...slices].map(([id, bytes]) => [account, id, bytes] as const),
  );
  yield* put(PUT_SLICE, added);
  const changed = views.filter((view): view is NewView & OfAccount => view.slices !== undefined);
  const accounts = changed.map(({ account }) => account);
  if (changed.length > 0) yield* put(DROP_SLICES, [[JSON.stringify(accounts), ...pairs(changed)]]);
  const bodies = views.map(({ account, body }) => [account, body]);
  yield* put(PUT, bodies);
}

/** Returns the accounts and the ids of slices, for `PAIRS`. */
function pairs(of: readonly OfAccount[]): readonly [accounts: string, ids: string] {
  const found = of.flatMap(({ account, slices }) => slices.map((id) => [account, id] as const));
  return [JSON.stringify(found.map(([account]) => account)), JSON.stringify(found.map(([, id]) => id))];
}
