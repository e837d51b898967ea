/** Triggers that had their run, and alerts as Alertmanager told of them. */
import type { Ledger } from '../ledger/ledger.ts';
import type { Journal } from './ledger-journal.ts';

const DAY_MS = 86_400_000;

/**
 * Alertmanager repeats what fires, every few hours by default, and at the latest when it has forgotten that it told (120h).
 * Of what was silenced or inhibited when it ended it tells no end.
 */
const TOLD_WITHIN_MS = DAY_MS;
const ENDED_AFTER_MS = 6 * DAY_MS;

export function createTriggers({ db, change }: Journal): Pick<Ledger, 'recordTrigger' | 'noteAlert' | 'alertFiring'> {
  const insertTrigger = db.prepare('INSERT OR IGNORE INTO triggers (policy, key, at) VALUES (?, ?, ?)');
  const insertAlert = db.prepare(
    'INSERT OR IGNORE INTO alerts (receiver, key, name, is_firing, at) VALUES (?, ?, ?, ?, ?)',
  );
  const updateAlert = db.prepare('UPDATE alerts SET name = ?, is_firing = ?, at = ? WHERE receiver = ? AND key = ?');
  const selectFiring = db.prepare('SELECT max(at) AS at FROM alerts WHERE name = ? AND is_firing = 1');
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
    alertFiring(name, now): boolean | undefined {
      const toldAt = selectFiring.get(name)!['at'] as number | null;
      if (toldAt !== null && now - toldAt <= TOLD_WITHIN_MS) return true;
      if (toldAt !== null && now - toldAt <= ENDED_AFTER_MS) return undefined;
      return selectAny.get() === undefined ? undefined : false;
    },
  };
}
