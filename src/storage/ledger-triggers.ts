/** Triggers that had their run, and alerts as Alertmanager told of them. */
import type { Ledger } from '../ledger/ledger.ts';
import type { Journal } from './ledger-journal.ts';

export function createTriggers({ db, change }: Journal): Pick<Ledger, 'recordTrigger' | 'noteAlert' | 'alertFiring'> {
  const insertTrigger = db.prepare('INSERT OR IGNORE INTO triggers (policy, key, at) VALUES (?, ?, ?)');
  const insertAlert = db.prepare(
    'INSERT OR IGNORE INTO alerts (receiver, key, name, is_firing, at) VALUES (?, ?, ?, ?, ?)',
  );
  const updateAlert = db.prepare('UPDATE alerts SET name = ?, is_firing = ?, at = ? WHERE receiver = ? AND key = ?');
  const selectFiring = db.prepare('SELECT 1 FROM alerts WHERE name = ? AND is_firing = 1 LIMIT 1');
  const selectAny = db.prepare('SELECT 1 FROM alerts LIMIT 1');

  return {
    recordTrigger: ({ policy, key, at }) =>
      change((tell) => {
        if (insertTrigger.run(policy, key, at).changes === 0) return false;
        tell({ type: 'trigger', policy, key });
        return true;
      }),
    noteAlert: ({ receiver, name, key, isFiring, at }) =>
      change(() => {
        const isNew = insertAlert.run(receiver, key, name, isFiring ? 1 : 0, at).changes > 0;
        if (!isNew) updateAlert.run(name, isFiring ? 1 : 0, at, receiver, key);
        return isNew;
      }),
    alertFiring(name): boolean | undefined {
      if (selectFiring.get(name) !== undefined) return true;
      return selectAny.get() === undefined ? undefined : false;
    },
  };
}
