/** Triggers, pending until a run has processed them, and alerts as reported by Alertmanager. */
import type { EventTrigger } from '#foundation/domain/plan.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import type { PendingTrigger, SignalInbox, Signals } from '#automate/ledger/signals.ts';
import { all, each, get, run, type Dialect, type Row } from './database.ts';
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
  Pick<Signals, 'pendingTriggers' | 'endTriggers' | 'alertsFiring'>;

export const selectPendingTriggers = ({ members, position }: Dialect): string => `
  SELECT policy, account, pending, at, CASE WHEN EXISTS (
      SELECT 1 FROM alerts a
      WHERE a.receiver = substr(t.key, 1, ${position(`t.key || '/'`, `'/'`)} - 1) AND a.key = t.key AND a.is_firing = 1
        AND a.at >= ?2
    ) THEN 1 ELSE 0 END AS is_firing
  FROM triggers t WHERE policy IN ${members('?1')} AND pending IS NOT NULL ORDER BY at, key`;

export const INSERT_TRIGGER = `INSERT INTO triggers (policy, key, account, at, pending) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (policy, key) DO NOTHING`;
const END_TRIGGER = 'UPDATE triggers SET pending = NULL WHERE policy = ? AND key = ? AND pending IS NOT NULL';
/** Reads only the index of the pending triggers, since the table also has those of the last 400 days. */
export const PENDING_WITH_KEY = 'SELECT policy FROM triggers WHERE pending IS NOT NULL AND key = ?';
const END_OF_ALERT = `UPDATE triggers SET pending = NULL
  WHERE policy = ? AND key = ? AND pending LIKE '{"kind":"alert"%'`;
const INSERT_ALERT = `INSERT INTO alerts (receiver, key, name, accounts, is_firing, at) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (receiver, key) DO NOTHING`;
const UPDATE_ALERT = 'UPDATE alerts SET name = ?, accounts = ?, is_firing = ?, at = ? WHERE receiver = ? AND key = ?';
const FIRING = 'SELECT name, accounts, at FROM alerts WHERE is_firing = 1';
const ANY = 'SELECT 1 AS found FROM alerts LIMIT 1';

/** Times of the last report of a firing alert: for the account, and without known accounts. */
interface Firing {
  readonly told: number;
  readonly unclear: number;
}

export function createTriggers({ database, write }: Journal): Triggers {
  const pending = selectPendingTriggers(database.dialect);
  const alertState = `SELECT is_firing FROM alerts WHERE receiver = ? AND key = ? ${database.dialect.locked}`;

  return {
    recordTrigger: ({ policy, account, trigger, at }) =>
      write(function* (tell) {
        const { key } = trigger;
        const alert =
          trigger.kind === 'alert' ? yield* get(alertState, key.slice(0, key.indexOf('/')), key) : undefined;
        // The end of the alert may have been stored since its begin, and ends no later trigger.
        const isOver = alert?.['is_firing'] === 0;
        const waiting = isOver ? null : JSON.stringify(trigger);
        if ((yield* run(INSERT_TRIGGER, policy, key, account, at, waiting)) === 0) return false;
        yield* tell({ type: 'trigger', policy, account, key });
        return !isOver;
      }),
    async pendingTriggers(policies, now) {
      if (policies.length === 0) return new Map();
      const accounts = new Map(policies.map(({ name, account }) => [name, account]));
      const rows = await database.read(all(pending, JSON.stringify([...accounts.keys()]), now - TOLD_WITHIN_MS));
      const found = new Map<string, PendingTrigger[]>();
      for (const row of rows) {
        const [policy, trigger] = [String(row['policy']), JSON.parse(String(row['pending'])) as EventTrigger];
        const isOver = trigger.kind === 'alert' && row['is_firing'] === 0;
        if (isOver || row['account'] !== accounts.get(policy)) continue;
        getOrAdd(found, policy, () => []).push({ trigger, at: Number(row['at']) });
      }
      return found;
    },
    async endTriggers({ name: policy, account }, triggers) {
      if (triggers.length === 0) return;
      await write(function* (tell) {
        const count = yield* each(END_TRIGGER, triggers, ({ trigger }) => [policy, trigger.key]);
        if (count > 0) yield* tell({ type: 'trigger.ended', policy, count, reason: 'ran' });
      }, account);
    },
    noteAlert: ({ receiver, name, key, accounts, isFiring, at }) =>
      write(function* (tell) {
        const [known, firing] = [accounts === undefined ? null : JSON.stringify(accounts), isFiring ? 1 : 0];
        const isNew = (yield* run(INSERT_ALERT, receiver, key, name, known, firing, at)) > 0;
        if (!isNew) yield* run(UPDATE_ALERT, name, known, firing, at, receiver, key);
        const ended = isFiring ? [] : yield* all(PENDING_WITH_KEY, key);
        const count = yield* each(END_OF_ALERT, ended, ({ policy }) => [String(policy), key]);
        if (count > 0) yield* tell({ type: 'trigger.ended', key, count, reason: 'resolved' });
        return isNew;
      }),
    async alertsFiring(account, now) {
      const rows = await database.read(all(FIRING));
      const isAnyKnown = rows.length > 0 || (await database.read(get(ANY))) !== undefined;
      const byName = Map.groupBy(rows, ({ name }) => String(name));
      const firing = new Map([...byName].map(([name, alerts]) => [name, firingOf(alerts, account)]));
      return (name) => {
        const { told, unclear } = firing.get(name) ?? { told: -Infinity, unclear: -Infinity };
        if (now - told <= TOLD_WITHIN_MS) return true;
        if (now - Math.max(told, unclear) <= ENDED_AFTER_MS) return undefined;
        return isAnyKnown ? false : undefined;
      };
    },
  };
}

function firingOf(alerts: readonly Row[], account: string): Firing {
  const last = (of: readonly Row[]): number => Math.max(-Infinity, ...of.map(({ at }) => Number(at)));
  return {
    told: last(
      alerts.filter(
        ({ accounts }) => accounts !== null && (JSON.parse(String(accounts)) as string[]).includes(account),
      ),
    ),
    unclear: last(alerts.filter(({ accounts }) => accounts === null)),
  };
}
