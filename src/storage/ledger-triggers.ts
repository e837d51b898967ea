/** Triggers, pending until a run has processed them, and alerts as reported by Alertmanager. */
import type { EventTrigger } from '#foundation/domain/plan.ts';
import type { SignalInbox, Signals } from '#automate/ledger/signals.ts';
import type { Journal } from './ledger-journal.ts';

const DAY_MS = 86_400_000;

/**
 * Limits for alerts without a report. Alertmanager repeats firing alerts, by default every few hours, and at the latest
 * when its notification log expires (120h). It sends no resolved notification for alerts that were silenced or
 * inhibited when they ended.
 */
const TOLD_WITHIN_MS = DAY_MS;
const ENDED_AFTER_MS = 6 * DAY_MS;

type Triggers = Pick<SignalInbox, 'recordTrigger' | 'noteAlert'> &
  Pick<Signals, 'pendingTriggers' | 'endTriggers' | 'alertFiring'>;

export const PENDING_TRIGGERS = `
  SELECT pending, at FROM triggers t
  WHERE policy = ?1 AND account = ?2 AND pending IS NOT NULL
    AND (pending ->> 'kind' <> 'alert' OR EXISTS (
      SELECT 1 FROM alerts a
      WHERE a.receiver = substr(t.key, 1, instr(t.key, '/') - 1) AND a.key = t.key AND a.is_firing = 1 AND a.at >= ?3
    ))
  ORDER BY at, key`;

export function createTriggers({ db, change }: Journal): Triggers {
  const insertTrigger = db.prepare(
    'INSERT OR IGNORE INTO triggers (policy, key, account, at, pending) VALUES (?, ?, ?, ?, ?)',
  );
  const selectPending = db.prepare(PENDING_TRIGGERS);
  const endTrigger = db.prepare(
    'UPDATE triggers SET pending = NULL WHERE policy = ? AND key = ? AND pending IS NOT NULL',
  );
  const endOfAlert = db.prepare(
    `UPDATE triggers INDEXED BY triggers_pending SET pending = NULL WHERE key = ? AND pending IS NOT NULL AND pending ->> 'kind' = 'alert'`,
  );
  const insertAlert = db.prepare(
    'INSERT OR IGNORE INTO alerts (receiver, key, name, accounts, is_firing, at) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const updateAlert = db.prepare(
    'UPDATE alerts SET name = ?, accounts = ?, is_firing = ?, at = ? WHERE receiver = ? AND key = ?',
  );
  const selectFiring = db.prepare(`
    SELECT max(at) FILTER (WHERE ?2 IN (SELECT value FROM json_each(accounts))) AS told,
           max(at) FILTER (WHERE accounts IS NULL) AS unclear
    FROM alerts WHERE name = ?1 AND is_firing = 1`);
  const selectAny = db.prepare('SELECT 1 FROM alerts LIMIT 1');

  return {
    recordTrigger: ({ policy, account, trigger, at }) =>
      change((tell) => {
        const { key } = trigger;
        if (insertTrigger.run(policy, key, account, at, JSON.stringify(trigger)).changes === 0) return false;
        tell({ type: 'trigger', policy, account, key });
        return true;
      }),
    pendingTriggers: (policy, account, now) =>
      selectPending.all(policy, account, now - TOLD_WITHIN_MS).map(({ pending, at }) => ({
        trigger: JSON.parse(String(pending)) as EventTrigger,
        at: Number(at),
      })),
    endTriggers(policy, triggers) {
      if (triggers.length === 0) return;
      change((tell) => {
        const count = triggers.reduce(
          (sum, { trigger }) => sum + Number(endTrigger.run(policy, trigger.key).changes),
          0,
        );
        if (count > 0) tell({ type: 'trigger.ended', policy, count, reason: 'ran' });
      });
    },
    noteAlert: ({ receiver, name, key, accounts, isFiring, at }) =>
      change((tell) => {
        const [known, firing] = [accounts === undefined ? null : JSON.stringify(accounts), isFiring ? 1 : 0];
        const isNew = insertAlert.run(receiver, key, name, known, firing, at).changes > 0;
        if (!isNew) updateAlert.run(name, known, firing, at, receiver, key);
        const count = isFiring ? 0 : Number(endOfAlert.run(key).changes);
        if (count > 0) tell({ type: 'trigger.ended', key, count, reason: 'resolved' });
        return isNew;
      }),
    alertFiring(account, name, now): boolean | undefined {
      const found = selectFiring.get(name, account)!;
      const told = found['told'] as number | null;
      if (told !== null && now - told <= TOLD_WITHIN_MS) return true;
      const last = Math.max(told ?? -Infinity, (found['unclear'] as number | null) ?? -Infinity);
      if (now - last <= ENDED_AFTER_MS) return undefined;
      return selectAny.get() === undefined ? undefined : false;
    },
  };
}
