/** Operations of operators, with their claims on entries. */
import type { ActionType } from '#foundation/domain/plan.ts';
import type { BudgetRaise } from '#foundation/domain/known-budget.ts';
import type { OperationOutcome, Operations } from '#automate/ledger/operations.ts';
import type { Journal } from './ledger-journal.ts';

/** Claim of an operation on an entry. */
interface OperationClaim {
  readonly operation: number;
  readonly action: ActionType;
  /** Absent while the request is in flight. */
  readonly outcome?: OperationOutcome;
}

export interface OperationClaims {
  claimOf(account: string, dlqId: string): OperationClaim | undefined;
}

export function createOperationClaims({ db }: Journal): OperationClaims {
  const select = db.prepare(
    `SELECT c.operation_id, c.action, o.outcome FROM operation_claims c JOIN operations o ON o.id = c.operation_id
     WHERE c.account = ? AND c.target = ?`,
  );
  return {
    claimOf(account, dlqId): OperationClaim | undefined {
      const row = select.get(account, dlqId);
      if (row === undefined) return undefined;
      const { operation_id: operation, action, outcome } = row;
      return {
        operation: Number(operation),
        action: String(action) as ActionType,
        ...(outcome !== null && { outcome: String(outcome) as OperationOutcome }),
      };
    },
  };
}

type Own = Operations & {
  /** Budgets that operators set. */
  budgetsByOperators(account: string, since: number): readonly BudgetRaise[];
};

/** @param claimedBy reason why a policy's action has an entry; undefined if none has */
export function createOperations(
  { db, change }: Journal,
  claims: OperationClaims,
  claimedBy: (account: string, dlqId: string) => string | undefined,
): Own {
  const insert = db.prepare(
    'INSERT INTO operations (at, operation, account, by, from_usd, to_usd) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const claim = db.prepare(
    'INSERT OR REPLACE INTO operation_claims (account, target, action, operation_id) VALUES (?, ?, ?, ?)',
  );
  const release = db.prepare('DELETE FROM operation_claims WHERE operation_id = ?');
  const select = db.prepare('SELECT operation, account, outcome FROM operations WHERE id = ?');
  const update = db.prepare('UPDATE operations SET outcome = ?, ended_at = ? WHERE id = ?');
  const selectOpen = db.prepare('SELECT id FROM operations WHERE outcome IS NULL ORDER BY id');
  const selectBudgets = db.prepare(
    `SELECT at, from_usd, to_usd, outcome FROM operations
     WHERE account = ? AND at > ? AND to_usd IS NOT NULL AND outcome IS NOT 'rejected' ORDER BY at, id`,
  );

  function objection(account: string, dlqIds: readonly string[]): string | undefined {
    for (const dlqId of dlqIds) {
      const taken = claims.claimOf(account, dlqId);
      // Only an operator can decide to repeat a call whose outcome is unknown.
      if (taken !== undefined && taken.outcome !== 'unknown') return `${dlqId}: operation ${taken.operation} has it`;
      const by = claimedBy(account, dlqId);
      if (by !== undefined) return `${dlqId}: ${by}`;
    }
    return undefined;
  }

  const operations: Own = {
    beginOperation: ({ operation, account, keys, by, at, object, claims: wanted, budget }) =>
      change((tell) => {
        const reason = wanted && objection(account, wanted.dlqIds);
        if (reason !== undefined) return { ok: false, reason };
        const { lastInsertRowid } = insert.run(
          at,
          operation,
          account,
          by,
          stored(budget?.fromUsd),
          stored(budget?.toUsd),
        );
        const id = Number(lastInsertRowid);
        for (const dlqId of wanted?.dlqIds ?? []) claim.run(account, dlqId, wanted!.action, id);
        const dlqIds = wanted?.dlqIds;
        tell({ type: 'operation.begun', account, operation, id, keys, by, object, dlqIds });
        return { ok: true, id };
      }),
    endOperation: (id, { at, outcome, detail }) =>
      change((tell) => {
        const row = select.get(id);
        if (row === undefined) throw new Error(`operation ${id} is not in the ledger`);
        update.run(outcome, at, id);
        if (outcome === 'rejected') release.run(id);
        const [operation, account] = [String(row['operation']), String(row['account'])];
        tell({ type: 'operation.ended', account, operation, id, outcome, detail });
      }),
    endInterruptedOperations(at): number {
      const open = selectOpen.all().map((row) => Number(row['id']));
      const detail = 'the daemon stopped before the response arrived';
      for (const id of open) operations.endOperation(id, { at, outcome: 'unknown', detail });
      return open.length;
    },
    budgetsByOperators: (account, since) =>
      selectBudgets.all(account, since).map(({ at, from_usd: from, to_usd: to, outcome }) => ({
        at: Number(at),
        fromUsd: read(from) ?? read(to)!,
        toUsd: read(to)!,
        isByOperator: true,
        ...(outcome !== null && { outcome: String(outcome) }),
      })),
  };
  return operations;
}

/** Dollars in the store: null if unknown, 0 if unlimited. */
function stored(dollars: number | undefined): number | null {
  if (dollars === undefined) return null;
  return dollars === Infinity ? 0 : dollars;
}

function read(value: unknown): number | undefined {
  if (typeof value !== 'number') return undefined;
  return value === 0 ? Infinity : value;
}
