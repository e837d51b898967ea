/** Deploys, as reported. */
import type { Deploy } from '#foundation/domain/deploy.ts';
import type { EventTrigger } from '#foundation/domain/plan.ts';
import type { DeployInbox, Deploys } from '#automate/ledger/deploys.ts';
import { all, each, get, run, type Dialect, type Row } from './database.ts';
import type { Journal } from './ledger-journal.ts';
import { INSERT_TRIGGER } from './ledger-triggers.ts';

/** Deploys of a reading, of each account. */
const MOST = 200;
/** Deploys that an account keeps, the newest ones: a sender cannot fill the store. */
const KEPT = 1_000;
const COLUMNS = 'id, account, parts, version, url, at, is_rollback';
const SAME = `SELECT ${COLUMNS} FROM deploys WHERE account = ? AND at = ? AND version = ? AND parts = ?`;
/** Deploys up to a time, newest first. */
const UNTIL = `SELECT ${COLUMNS} FROM deploys WHERE account = ? AND at <= ? ORDER BY at DESC, id DESC`;
const FORGET = `DELETE FROM deploys WHERE account = ?1
  AND id <= (SELECT id FROM deploys WHERE account = ?1 ORDER BY id DESC LIMIT 1 OFFSET ${KEPT})`;
const INSERT = `INSERT INTO deploys (account, parts, version, url, at, is_rollback) VALUES (?, ?, ?, ?, ?, ?)
  RETURNING ${COLUMNS}`;

export function selectDeploys({ members }: Dialect): string {
  return `SELECT ${COLUMNS} FROM (
      SELECT ${COLUMNS}, row_number() OVER (PARTITION BY account ORDER BY at DESC, id DESC) AS place FROM deploys
      WHERE account IN ${members('?1')} AND at >= ?2
    ) AS numbered WHERE place <= ${MOST} ORDER BY at DESC, id DESC`;
}

export function createDeploys({ database, write }: Journal): DeployInbox & Deploys {
  const select = selectDeploys(database.dialect);
  return {
    recordDeploy: ({ account, of, version, url, at, failed, by }, policies) =>
      write(function* (tell) {
        const parts = JSON.stringify(of.toSorted());
        const known = yield* get(SAME, account, at, version, parts);
        if (known !== undefined) return { deploy: deployOf(known), isNew: false };
        const isRollback = failed || isReturn({ of, version }, (yield* all(UNTIL, account, at)).map(deployOf));
        const row = yield* get(INSERT, account, parts, version, url ?? null, at, isRollback ? 1 : 0);
        yield* run(FORGET, account);
        const deploy = deployOf(row!);
        const trigger: EventTrigger = { kind: 'deploy', name: version, key: `deploy/${deploy.id}`, at };
        const { key } = trigger;
        const waiting = isRollback ? [] : policies;
        yield* each(INSERT_TRIGGER, waiting, (policy) => [policy, key, account, at, JSON.stringify(trigger)]);
        yield* tell({ type: 'deploy', account, of, version, at, failed: isRollback, by });
        return { deploy, isNew: true };
      }),
    deploys: async (accounts, since) =>
      accounts.length === 0 ? [] : (await database.read(all(select, JSON.stringify(accounts), since))).map(deployOf),
  };
}

/**
 * Returns true if a part had this version before, and another one since. Another deploy of the newest version repeats it,
 * and goes back to nothing. Each part counts by itself, because a deploy of several services can go back for one of them.
 *
 * @param before newest first
 */
function isReturn({ of, version }: Pick<Deploy, 'of' | 'version'>, before: readonly Deploy[]): boolean {
  return of.some((part) => {
    const [newest, ...replaced] = before.filter((one) => one.of.includes(part)).map((one) => one.version);
    return newest !== version && replaced.includes(version);
  });
}

export function deployOf({ id, account, parts, version, url, at, is_rollback: isRollback }: Row): Deploy {
  return {
    id: Number(id),
    account: String(account),
    of: JSON.parse(String(parts)) as string[],
    version: String(version),
    ...(url !== null && { url: String(url) }),
    at: Number(at),
    isRollback: isRollback === 1,
  };
}
