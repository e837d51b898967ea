/** Pauses. Each stays active, with its first reason, until an operator lifts it. */
import { standIn } from '#automate/ledger/audit-chain.ts';
import { KILL_SWITCH, type Pause, type Pauses } from '#automate/ledger/pauses.ts';
import { all, run } from './database.ts';
import type { Journal } from './ledger-journal.ts';

const INSERT = `INSERT INTO pauses (scope, reason, at, by) VALUES (?, ?, ?, ?)
  ON CONFLICT (scope) WHERE lifted_at IS NULL DO NOTHING`;
const ACTIVE = `SELECT scope, reason, at, by FROM pauses
  WHERE lifted_at IS NULL AND scope NOT LIKE '${KILL_SWITCH}%' ORDER BY id`;
const LIFT = `UPDATE pauses SET lifted_at = ?1, lifted_reason = ?2, lifted_by = ?3
  WHERE lifted_at IS NULL AND CASE WHEN CAST(?4 AS TEXT) IS NULL THEN scope NOT LIKE '${KILL_SWITCH}%' ELSE scope = ?4 END
  RETURNING scope`;

export function createPauses({ database, write }: Journal): Pauses {
  return {
    pause: ({ scope, reason, at, by }) =>
      write(function* (tell) {
        const paused = yield* run(INSERT, scope, reason, at, by);
        if (paused > 0) yield* tell({ type: 'pause', scope: told(scope), reason, by });
      }),
    pauses: () => database.read(all<Pause>(ACTIVE)),
    unpause: ({ scope, at, reason, by }) =>
      write(function* (tell) {
        const lifted = yield* all(LIFT, at, reason, by, scope ?? null);
        const scopes = lifted.map((row) => told(String(row['scope'])));
        if (scopes.length > 0) yield* tell({ type: 'unpause', scopes, reason, by });
        return scopes.length;
      }),
  };
}

/** Returns `group/POLICY/GROUP` with a placeholder for the group, because a URL may contain a secret. */
function told(scope: string): string {
  return scope.replace(/^(group\/[^/]*\/)(.*)$/s, (_all, start: string, group: string) => start + standIn(group));
}
