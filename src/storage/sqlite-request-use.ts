/** Store of the daily request budgets on SQLite: one row for each API of an account. */
import type { RequestUseStore } from '#foundation/domain/request-use.ts';
import type { Store } from './sqlite.ts';

export function createRequestUseStore({ db }: Store): RequestUseStore {
  const select = db.prepare('SELECT day, used FROM request_use WHERE account = ? AND api = ?');
  const upsert = db.prepare('INSERT OR REPLACE INTO request_use (account, api, day, used) VALUES (?, ?, ?, ?)');
  return {
    load(account, api) {
      const row = select.get(account, api);
      return row && { day: Number(row['day']), used: Number(row['used']) };
    },
    save: (account, api, { day, used }) => void upsert.run(account, api, day, used),
  };
}
