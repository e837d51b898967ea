/** Changes of budgets by the daemon and by operators, and the time since when the store has all of them. */
import { CLOCK_MARGIN_MS } from '#foundation/domain/clock-skew.ts';
import type { BudgetRaise } from '#foundation/domain/known-budget.ts';
import type { ActionRecord } from '#automate/ledger/intents.ts';
import type { Raises } from '#automate/ledger/usage.ts';
import { all, get, run, type Dialect, type Row, type Work } from './database.ts';
import type { Journal } from './ledger-journal.ts';
import { ACTIONS, actionRows } from './ledger-rows.ts';

export const RAISES = `${ACTIONS}
  WHERE i.action = 'budget.raise' AND i.account = ? AND i.at > ? AND i.active = 1 ORDER BY i.at, i.id`;
const BY_OPERATORS = `SELECT at, from_usd, to_usd, outcome FROM operations
  WHERE account = ? AND at > ? AND to_usd IS NOT NULL AND (outcome IS NULL OR outcome <> 'rejected') ORDER BY at, id`;

/** Queries of the changes of many accounts: `?1` is a JSON array of their names. */
export const budgetQueries = ({ members }: Dialect) => ({
  raisesOfAll: `${ACTIONS}
    WHERE i.action = 'budget.raise' AND i.account IN ${members('?1')} AND i.active = 1 ORDER BY i.at, i.id`,
  byOperatorsOfAll: `SELECT account, at, from_usd, to_usd, outcome FROM operations
    WHERE account IN ${members('?1')} AND to_usd IS NOT NULL AND (outcome IS NULL OR outcome <> 'rejected')
    ORDER BY at, id`,
});

const SINCE = 'SELECT since FROM watched_accounts WHERE account = ?';
const PUT_ACCOUNT = `INSERT INTO watched_accounts (account, id, since) VALUES (?, ?, ?)
  ON CONFLICT (account) DO UPDATE SET id = excluded.id, since = excluded.since WHERE watched_accounts.id <> excluded.id`;

export function createBudgets({ database }: Journal): Raises {
  const { raisesOfAll, byOperatorsOfAll } = budgetQueries(database.dialect);
  const known = `SELECT account, id FROM watched_accounts WHERE account IN ${database.dialect.members('?1')}`;

  return {
    raises: async (account, since) => database.read(raisesOf(account, since)),
    budgetChanges: async (account, since) => database.read(budgetChangesOf(account, since)),
    budgetChangesOf: (accounts) =>
      database.view(async (view) => {
        const names = JSON.stringify(accounts);
        const [raises, byOperators] = await Promise.all([
          view.read(actionRows(raisesOfAll, names)),
          view.read(all(byOperatorsOfAll, names)),
        ]);
        const raised = Map.groupBy(raises, ({ proposal }) => proposal.account);
        const changed = Map.groupBy(byOperators, (row) => String(row['account']));
        return new Map(
          accounts.map((account) => [
            account,
            byTime(raisesAmong(raised.get(account) ?? []), (changed.get(account) ?? []).map(operatorsChange)),
          ]),
        );
      }),
    async noteAccounts(accounts, at) {
      if (accounts.length === 0) return;
      const rows = await database.read(all(known, JSON.stringify(accounts.map(({ account }) => account))));
      const ids = new Map(rows.map((row) => [row['account'], row['id']]));
      for (const { account, id } of accounts) {
        if (ids.get(account) !== id) await database.transaction(run(PUT_ACCOUNT, account, id, at), account);
      }
    },
    async accountSince(account) {
      const row = await database.read(get(SINCE, account));
      return row && Number(row['since']);
    },
  };
}

function* raisesOf(account: string, since: number): Work<readonly BudgetRaise[]> {
  return raisesAmong(yield* actionRows(RAISES, account, since));
}

function raisesAmong(found: readonly ActionRecord[]): BudgetRaise[] {
  return found.flatMap(({ at, proposal, outcome }) => {
    if (proposal.action !== 'budget.raise') return [];
    const { fromUsd, toUsd } = proposal;
    return [{ at, fromUsd, toUsd, outcome }];
  });
}

function byTime(raises: readonly BudgetRaise[], byOperators: readonly BudgetRaise[]): readonly BudgetRaise[] {
  return [...raises, ...byOperators].toSorted((a, b) => a.at - b.at);
}

/** Returns the raises and the changes by operators since `since` that may have had an effect, oldest first. */
export function* budgetChangesOf(account: string, since: number): Work<readonly BudgetRaise[]> {
  const raises = yield* raisesOf(account, since);
  const byOperators = (yield* all(BY_OPERATORS, account, since)).map(operatorsChange);
  return byTime(raises, byOperators);
}

/**
 * Returns the time for a change of a budget: after all changes before it, because the last one counts. The clock of an
 * earlier owner of the account may have been ahead of this one.
 */
export function* afterBudgetChanges(account: string, at: number): Work<number> {
  const last = (yield* budgetChangesOf(account, 0)).at(-1)?.at ?? -Infinity;
  return last <= at + CLOCK_MARGIN_MS ? Math.max(at, last + 1) : at;
}

function operatorsChange({ at, from_usd: from, to_usd: to, outcome }: Row): BudgetRaise {
  const toUsd = dollarsOf(to)!;
  return {
    at: Number(at),
    fromUsd: dollarsOf(from) ?? toUsd,
    toUsd,
    isByOperator: true,
    outcome: outcome === null ? undefined : String(outcome),
  };
}

/** Returns dollars in the store: null is unknown, 0 is unlimited. */
function dollarsOf(value: unknown): number | undefined {
  if (typeof value !== 'number') return undefined;
  return value === 0 ? Infinity : value;
}
