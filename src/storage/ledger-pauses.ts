/** Pauses. Each stays active, with its first reason, until an operator lifts it. */
import { standIn } from '#automate/ledger/audit-chain.ts';
import type { Pauses } from '#automate/ledger/pauses.ts';
import type { Journal } from './ledger-journal.ts';

export function createPauses({ db, change }: Journal): Pauses {
  const insert = db.prepare('INSERT OR IGNORE INTO pauses (scope, reason, at, by) VALUES (?, ?, ?, ?)');
  const select = db.prepare('SELECT scope, reason, at, by FROM pauses WHERE lifted_at IS NULL ORDER BY id');
  const lift = db.prepare(
    `UPDATE pauses SET lifted_at = ?1, lifted_reason = ?2, lifted_by = ?3
     WHERE lifted_at IS NULL AND (?4 IS NULL OR scope = ?4) RETURNING scope`,
  );

  return {
    pause: ({ scope, reason, at, by }) =>
      change((tell) => {
        if (insert.run(scope, reason, at, by).changes > 0) tell({ type: 'pause', scope: told(scope), reason, by });
      }),
    pauses: () =>
      select.all().map((row) => ({
        scope: String(row['scope']),
        reason: String(row['reason']),
        at: Number(row['at']),
        by: String(row['by']),
      })),
    unpause: ({ scope, at, reason, by }) =>
      change((tell) => {
        const scopes = lift.all(at, reason, by, scope ?? null).map((row) => String(row['scope']));
        if (scopes.length > 0) tell({ type: 'unpause', scopes: scopes.map(told), reason, by });
        return scopes.length;
      }),
  };
}

/** Returns `group/POLICY/GROUP` with a placeholder for the group, because a URL may contain a secret. */
function told(scope: string): string {
  return scope.replace(/^(group\/[^/]*\/)(.*)$/s, (_all, start: string, group: string) => start + standIn(group));
}
