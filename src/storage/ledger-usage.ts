/** Use of caps, and the times of a policy's actions. */
import type { Usage } from '#automate/ledger/usage.ts';
import { get, type Dialect } from './database.ts';
import type { Caps } from './ledger-caps.ts';
import type { Journal } from './ledger-journal.ts';

/** Returns the queries by name. They must stay fast with a million intents. */
export const usageQueries = ({ jsonNumber }: Dialect) => ({
  lastIntent: 'SELECT max(at) AS at FROM intents WHERE policy = ?',
  lastUnknown: `SELECT max(at) AS at FROM intents i WHERE policy = ? AND at > ? AND
    EXISTS (SELECT 1 FROM outcomes WHERE intent_id = i.id AND outcome IN ('unknown', 'unresolvable'))`,
  // A run without configured retries has the service's default number.
  resumedTries: `SELECT coalesce(sum(1 + coalesce(${jsonNumber('proposal', 'retries')}, 3)), 0) AS tries FROM intents
    WHERE at > ? AND account = ? AND active = 1
      AND action IN ('workflow-dlq.resume', 'message-dlq.republish')`,
});

/** @param mustBeAdopted reason why actions that the store does not have may have used up every window */
export function createUsage({ database }: Journal, caps: Caps, mustBeAdopted: () => string | undefined): Usage {
  const queries = usageQueries(database.dialect);

  return {
    used: async (wanted) =>
      mustBeAdopted() === undefined ? database.read(caps.used(wanted)) : wanted.map(() => Number.MAX_SAFE_INTEGER),
    oldestAt: async (scope, since) => database.read(caps.oldestAt(scope, since)),
    lastIntentAt: async (policy) => timeOf(await database.read(get(queries.lastIntent, policy))),
    lastUnknownAt: async (policy, since) => timeOf(await database.read(get(queries.lastUnknown, policy, since))),
    async resumedTries(account, since) {
      return Number((await database.read(get(queries.resumedTries, since, account)))?.['tries']);
    },
  };
}

function timeOf(row: { readonly at?: unknown } | undefined): number | undefined {
  return typeof row?.at === 'number' ? row.at : undefined;
}
