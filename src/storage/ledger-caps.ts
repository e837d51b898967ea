/**
 * Computes the used part of a cap. Items are summed in time slices. A window is the sum of its whole slices and of the
 * intents in the partial slice at its start. The result is exact, and fast for any number of intents.
 */
import type { Proposal } from '#foundation/domain/plan.ts';
import type { CapLimit } from '#automate/ledger/intents.ts';
import type { CapScope, Usage } from '#automate/ledger/usage.ts';
import { all, get, run, type Dialect, type Work } from './database.ts';

export const SLICE_MS = 300_000;

const ADD = `INSERT INTO cap_slices (slice, policy, account, action, items) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (slice, policy, account, action) DO UPDATE SET items = cap_slices.items + excluded.items`;

/**
 * Items since `?1` by policy, account and action: those in the part of a slice that ends at `?2`, and in all later
 * slices. Only time bounds it, so it reads ranges of two indexes.
 */
export const ITEMS = `SELECT policy, account, action, sum(items) AS items FROM cap_slices
    WHERE slice >= ?2 GROUP BY policy, account, action
  UNION ALL SELECT policy, account, action, sum(items) FROM intents
    WHERE at > ?1 AND at < ?2 AND active = 1 GROUP BY policy, account, action`;

/** Query of the oldest action since `?1`: `?2` is the policy, `?3` the account. */
export function oldestQuery(actions = NOT_BUDGET): string {
  return `SELECT min(at) AS at FROM intents WHERE at > ?1 AND active = 1 AND ${actions}
    AND (CAST(?2 AS TEXT) IS NULL OR policy = ?2) AND (CAST(?3 AS TEXT) IS NULL OR account = ?3)`;
}

/** By default, all actions except budget raises count, which do not act on entries. */
const NOT_BUDGET = `action <> 'budget.raise'`;

type ItemRow = Pick<Proposal, 'policy' | 'account' | 'action' | 'items'>;
type CapWindows = Parameters<Usage['used']>[0];

export type Caps = ReturnType<typeof createCaps>;

/** Returns the use of the caps, as work within a transaction. */
export function createCaps(dialect: Dialect) {
  const oldestOfAll = oldestQuery();
  const oldestOfSome = oldestQuery(`action IN ${dialect.members('?4')}`);

  /** Returns the numbers of items in scopes, each since its start. Windows with one start share a query. */
  function* used(windows: CapWindows): Work<readonly number[]> {
    const parts = new Map<number, readonly ItemRow[]>();
    for (const { since } of windows) {
      if (!parts.has(since)) parts.set(since, yield* all<ItemRow>(ITEMS, since, sliceOf(since) + SLICE_MS));
    }
    return windows.map(({ since, scope: { policy, account, actions } }) => {
      let sum = 0;
      for (const row of parts.get(since)!) {
        const isOf = row.policy === (policy ?? row.policy) && row.account === (account ?? row.account);
        if (isOf && counts({ actions }, row)) sum += row.items;
      }
      return sum;
    });
  }

  /** Returns the time of the oldest action in a scope since `since`. */
  function* oldestAt({ policy, account, actions }: CapScope, since: number): Work<number | undefined> {
    const scope = [since, policy ?? null, account ?? null];
    const row = yield* actions === undefined
      ? get(oldestOfAll, ...scope)
      : get(oldestOfSome, ...scope, JSON.stringify(actions));
    return typeof row?.['at'] === 'number' ? row['at'] : undefined;
  }

  function* add({ policy, account, action }: Proposal, at: number, items: number): Work<void> {
    yield* run(ADD, sliceOf(at), policy, account, action, items);
  }

  return {
    used,
    oldestAt,
    /** Takes the items of a proposal. */
    take: (proposal: Proposal, at: number) => add(proposal, at, proposal.items),
    /** Returns items. */
    giveBack: (proposal: Proposal, at: number, items: number) => add(proposal, at, -items),
    /** Returns why a proposal does not fit; undefined if it fits. */
    *objection(proposal: Proposal, at: number, caps: readonly CapLimit[]): Work<string | undefined> {
      const meant = caps.filter((cap) => counts(cap, proposal));
      const since = ({ windowMs, marginMs = 0 }: CapLimit): number => at - windowMs - marginMs;
      const use = yield* used(meant.map((cap) => ({ scope: scopeOf(cap, proposal), since: since(cap) })));
      for (const [index, cap] of meant.entries()) {
        const taken = use[index]!;
        if (taken + proposal.items <= cap.limit) continue;
        const window = `${cap.limit} in ${cap.windowMs / 3_600_000} h`;
        if (taken >= cap.limit) return `${cap.scope}: ${window} reached`;
        return `${cap.scope}: ${taken} of ${window} used, ${proposal.items} more do not fit`;
      }
      return undefined;
    },
  };
}

function sliceOf(at: number): number {
  return Math.floor(at / SLICE_MS) * SLICE_MS;
}

/** Returns true if an action uses a cap. */
function counts({ actions }: Pick<CapScope, 'actions'>, { action }: Pick<Proposal, 'action'>): boolean {
  return actions === undefined ? action !== 'budget.raise' : actions.includes(action);
}

function scopeOf({ scope, actions }: CapLimit, { policy, account }: Proposal): CapScope {
  return {
    policy: scope === 'policy' ? policy : undefined,
    account: scope === 'account' ? account : undefined,
    actions,
  };
}
