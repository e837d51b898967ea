/**
 * Computes the used part of a cap. Items are summed in time slices. A window is the sum of its whole slices and of the
 * intents in the partial slice at its start. The result is exact, and fast for any number of intents.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { Proposal } from '#foundation/domain/plan.ts';
import type { CapLimit } from '#automate/ledger/intents.ts';
import type { Usage } from '#automate/ledger/usage.ts';

export const SLICE_MS = 300_000;

/** Scope of `used`. Without actions, all count except budget raises, which do not act on entries. */
const SCOPE = `(?2 IS NULL OR policy = ?2) AND (?3 IS NULL OR account = ?3) AND
  CASE WHEN ?4 IS NULL THEN action <> 'budget.raise' ELSE action IN (SELECT value FROM json_each(?4)) END`;

/** Parts of a window. Only time bounds them, so they are ranges of an index. */
export const WHOLE_SLICES = `SELECT coalesce(sum(items), 0) AS items FROM cap_slices WHERE slice >= ?1 AND ${SCOPE}`;
export const PART_OF_SLICE = `SELECT coalesce(sum(items), 0) AS items FROM intents INDEXED BY intents_caps
  WHERE at > ?1 AND at < ?5 AND active = 1 AND ${SCOPE}`;

export interface Caps {
  readonly used: Usage['used'];
  /** Takes the items of a proposal, within the caller's transaction. */
  take(proposal: Proposal, at: number): void;
  /** Returns items, within the caller's transaction. @param items number of items to return */
  giveBack(proposal: Proposal, at: number, items: number): void;
  /** Returns why a proposal does not fit; undefined if it fits. */
  objection(proposal: Proposal, at: number, caps: readonly CapLimit[]): string | undefined;
}

export function createCaps(db: DatabaseSync): Caps {
  const addToSlice = db.prepare(
    `INSERT INTO cap_slices (slice, policy, account, action, items) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (slice, policy, account, action) DO UPDATE SET items = items + excluded.items`,
  );
  const sumSlices = db.prepare(WHOLE_SLICES);
  const sumPart = db.prepare(PART_OF_SLICE);

  const used: Usage['used'] = ({ policy = null, account = null, actions }, since) => {
    const types = actions === undefined ? null : JSON.stringify(actions);
    const firstWhole = sliceOf(since) + SLICE_MS;
    const whole = sumSlices.get(firstWhole, policy, account, types);
    const part = sumPart.get(since, policy, account, types, firstWhole);
    return Number(whole?.['items']) + Number(part?.['items']);
  };

  function add({ policy, account, action }: Proposal, at: number, items: number): void {
    addToSlice.run(sliceOf(at), policy, account, action, items);
  }

  return {
    used,
    take: (proposal, at) => add(proposal, at, proposal.items),
    giveBack: (proposal, at, items) => add(proposal, at, -items),
    objection(proposal, at, caps): string | undefined {
      for (const cap of caps) {
        if (!counts(cap, proposal)) continue;
        const taken = used(scopeOf(cap, proposal), at - cap.windowMs - (cap.marginMs ?? 0));
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

function scopeOf({ scope, actions }: CapLimit, { policy, account }: Proposal): Parameters<Usage['used']>[0] {
  const only = actions !== undefined && { actions };
  switch (scope) {
    case 'policy':
      return { policy, ...only };
    case 'account':
      return { account, ...only };
    case 'engine':
      return { ...only };
  }
}
