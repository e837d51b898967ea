/**
 * Computes the used part of a cap. Items are summed in time slices. A window is the sum of its whole slices and of the
 * intents in the partial slice at its start. The result is exact, and fast for any number of intents.
 */
import type { Proposal } from '#foundation/domain/plan.ts';
import type { CapLimit } from '#automate/ledger/intents.ts';
import type { CapScope } from '#automate/ledger/usage.ts';
import { get, run, type Dialect, type Work } from './database.ts';

export const SLICE_MS = 300_000;

const ADD = `INSERT INTO cap_slices (slice, policy, account, action, items) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (slice, policy, account, action) DO UPDATE SET items = cap_slices.items + excluded.items`;

/**
 * Returns the queries of both parts of a window, and of its oldest action: `?1` is its start, `?2` the policy, `?3` the
 * account, and `?4` the end of the partial slice. Only time bounds them, so they are ranges of an index.
 *
 * @param actions expression of the actions that count; default: all except budget raises, which do not act on entries
 */
export function capQueries(actions = `action <> 'budget.raise'`) {
  const scope = `${actions} AND (CAST(?2 AS TEXT) IS NULL OR policy = ?2) AND (CAST(?3 AS TEXT) IS NULL OR account = ?3)`;
  const sum = 'SELECT coalesce(sum(items), 0) AS items FROM';
  return {
    wholeSlices: `${sum} cap_slices WHERE slice >= ?1 AND slice < ?4 AND ${scope}`,
    oldest: `SELECT min(at) AS at FROM intents WHERE at > ?1 AND at < ?4 AND active = 1 AND ${scope}`,
    partOfSlice: `${sum} intents WHERE at > ?1 AND at < ?4 AND active = 1 AND ${scope}`,
  };
}

export type Caps = ReturnType<typeof createCaps>;

/** Returns the use of the caps, as work within a transaction. */
export function createCaps(dialect: Dialect) {
  const all = capQueries();
  const some = capQueries(`action IN ${dialect.members('?5')}`);

  function queriesOf({ policy, account, actions }: CapScope) {
    const scope = [policy ?? null, account ?? null];
    return actions === undefined ? { ...all, scope, types: [] } : { ...some, scope, types: [JSON.stringify(actions)] };
  }

  /** Returns the number of items in a scope since `since`. */
  function* used(of: CapScope, since: number): Work<number> {
    const { wholeSlices, partOfSlice, scope, types } = queriesOf(of);
    const firstWhole = sliceOf(since) + SLICE_MS;
    const whole = yield* get(wholeSlices, firstWhole, ...scope, Number.MAX_SAFE_INTEGER, ...types);
    const part = yield* get(partOfSlice, since, ...scope, firstWhole, ...types);
    return Number(whole?.['items']) + Number(part?.['items']);
  }

  /** Returns the time of the oldest action in a scope since `since`. */
  function* oldestAt(of: CapScope, since: number): Work<number | undefined> {
    const { oldest, scope, types } = queriesOf(of);
    const at = (yield* get(oldest, since, ...scope, Number.MAX_SAFE_INTEGER, ...types))?.['at'];
    return typeof at === 'number' ? at : undefined;
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
      for (const cap of caps) {
        if (!counts(cap, proposal)) continue;
        const taken = yield* used(scopeOf(cap, proposal), at - cap.windowMs - (cap.marginMs ?? 0));
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
function counts({ actions }: CapLimit, { action }: Proposal): boolean {
  return actions === undefined ? action !== 'budget.raise' : actions.includes(action);
}

function scopeOf({ scope, actions }: CapLimit, { policy, account }: Proposal): CapScope {
  return {
    policy: scope === 'policy' ? policy : undefined,
    account: scope === 'account' ? account : undefined,
    actions,
  };
}
