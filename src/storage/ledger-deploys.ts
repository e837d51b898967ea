/** Deploys, as reported. */
import type { Deploy } from '#foundation/domain/deploy.ts';
import type { EventTrigger } from '#foundation/domain/plan.ts';
import type { DeployInbox, Deploys } from '#automate/ledger/deploys.ts';
import { all, each, get, type Dialect, type Row } from './database.ts';
import type { Journal } from './ledger-journal.ts';
import { INSERT_TRIGGER } from './ledger-triggers.ts';

const MOST = 200;
const COLUMNS = 'id, account, parts, version, url, at, is_rollback';
const SAME = `SELECT ${COLUMNS} FROM deploys WHERE account = ? AND at = ? AND version = ? AND parts = ?`;
/** Versions of the same parts, newest first. */
const VERSIONS = `SELECT version FROM deploys WHERE account = ? AND parts = ? ORDER BY at DESC, id DESC LIMIT ${MOST}`;
const INSERT = `INSERT INTO deploys (account, parts, version, url, at, is_rollback) VALUES (?, ?, ?, ?, ?, ?)
  RETURNING ${COLUMNS}`;

export function selectDeploys({ members }: Dialect): string {
  return `SELECT ${COLUMNS} FROM deploys WHERE account IN ${members('?1')} AND at >= ?2
    ORDER BY at DESC, id DESC LIMIT ${MOST}`;
}

export function createDeploys({ database, write }: Journal): DeployInbox & Deploys {
  const select = selectDeploys(database.dialect);
  return {
    recordDeploy: ({ account, of, version, url, at, failed, by }, policies) =>
      write(function* (tell) {
        const parts = JSON.stringify(of.toSorted());
        const known = yield* get(SAME, account, at, version, parts);
        if (known !== undefined) return { deploy: deployOf(known), isNew: false };
        const [newest, ...before] = (yield* all(VERSIONS, account, parts)).map((row) => row['version']);
        // Another deploy of the newest version repeats it, and goes back to nothing.
        const isRollback = failed || (newest !== version && before.includes(version));
        const row = yield* get(INSERT, account, parts, version, url ?? null, at, isRollback ? 1 : 0);
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
