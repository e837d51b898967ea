/** Campaigns. A policy and group have at most one that has not ended. */
import type { Campaign } from '#foundation/domain/campaign.ts';
import { standIn } from '#automate/ledger/audit-chain.ts';
import type { Campaigns } from '#automate/ledger/campaigns.ts';
import type { ActionRecord } from '#automate/ledger/intents.ts';
import { get, records, run, type Dialect, type Work } from './database.ts';
import type { Journal } from './ledger-journal.ts';
import { ACTIONS, actionRows } from './ledger-rows.ts';

const OPEN = `SELECT record FROM campaigns WHERE state <> 'ended' ORDER BY policy, group_name`;
const ONE = `SELECT record FROM campaigns WHERE policy = ? AND group_name = ? AND state <> 'ended'`;
const PUT = `INSERT INTO campaigns (id, policy, group_name, state, begun_at, record) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET state = excluded.state, record = excluded.record`;
const NUMBER = `INSERT INTO campaign_numbers (policy, last) VALUES (?, 1)
  ON CONFLICT (policy) DO UPDATE SET last = campaign_numbers.last + 1 RETURNING last`;

/** Returns the query of the actions of steps: `?1` are the ids of their campaigns, `?2` the keys of the steps. */
export function stepQuery({ members }: Dialect): string {
  const key = `(i.campaign || '#' || i.step)`;
  return `${ACTIONS} WHERE i.campaign IN ${members('?1')} AND ${key} IN ${members('?2')} ORDER BY i.id`;
}

/** @param isOwn returns true for the accounts whose campaigns are listed */
export function createCampaigns({ database, write }: Journal, isOwn: (account: string) => boolean): Campaigns {
  const step = stepQuery(database.dialect);

  function* stepActs(
    campaigns: readonly Pick<Campaign, 'id' | 'step'>[],
  ): Work<ReadonlyMap<string, readonly ActionRecord[]>> {
    if (campaigns.length === 0) return new Map();
    const ids = JSON.stringify(campaigns.map(({ id }) => id));
    const acts = yield* actionRows(step, ids, JSON.stringify(campaigns.map(({ id, step }) => `${id}#${step}`)));
    return Map.groupBy(acts, ({ proposal }) => idOf(proposal));
  }

  return {
    campaigns: async () => (await database.read(records<Campaign>(OPEN))).filter(({ account }) => isOwn(account)),
    stepActs: async (campaigns) => database.read(stepActs(campaigns)),
    changeCampaign: async ({ policy, account, group }, change) =>
      write(function* (tell) {
        const [before] = yield* records<Campaign>(ONE, policy, group);
        const acts = before && (yield* stepActs([before])).get(before.id);
        const after = change(before, acts ?? []);
        if (after === undefined || after === before) return undefined;
        const id = before?.id ?? `${policy}/${Number((yield* get(NUMBER, policy))?.['last'])}`;
        const saved: Campaign = { ...after, id };
        const { state, step, size, begunAt, reason, judged, verified, halts } = saved;
        yield* run(PUT, id, policy, group, state, begunAt, JSON.stringify(saved));
        if (before?.state === state && before.step === step) return saved;
        const from = before?.state;
        yield* tell({
          type: 'campaign',
          policy,
          account,
          campaign: id,
          group: standIn(group),
          from,
          state,
          step,
          size,
          judged,
          verified,
          halts,
          reason,
        });
        return saved;
      }, account),
  };
}

function idOf(proposal: ActionRecord['proposal']): string {
  return 'campaign' in proposal ? (proposal.campaign?.id ?? '') : '';
}
