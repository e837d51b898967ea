/** Campaigns. A policy and group have at most one that has not ended. */
import type { Campaign } from '#foundation/domain/campaign.ts';
import { standIn } from '#automate/ledger/audit-chain.ts';
import type { Campaigns } from '#automate/ledger/campaigns.ts';
import type { Journal } from './ledger-journal.ts';

export function createCampaigns({ db, change }: Journal): Omit<Campaigns, 'stepActs'> {
  const selectOne = db.prepare(`SELECT record FROM campaigns WHERE policy = ? AND group_name = ? AND state <> 'ended'`);
  const selectAll = db.prepare(`SELECT record FROM campaigns WHERE state <> 'ended' ORDER BY policy, group_name`);
  const selectState = db.prepare('SELECT record FROM campaigns WHERE id = ?');
  const put = db.prepare(
    `INSERT INTO campaigns (id, policy, group_name, state, begun_at, record) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET state = excluded.state, record = excluded.record`,
  );
  const number = db.prepare(
    `INSERT INTO campaign_numbers (policy, last) VALUES (?, 1)
     ON CONFLICT (policy) DO UPDATE SET last = last + 1 RETURNING last`,
  );
  const campaignOf = (row: Record<string, unknown>): Campaign => JSON.parse(String(row['record'])) as Campaign;

  return {
    campaign(policy, group): Campaign | undefined {
      const row = selectOne.get(policy, group);
      return row === undefined ? undefined : campaignOf(row);
    },
    campaigns: () => selectAll.all().map(campaignOf),
    saveCampaign: (campaign) =>
      change((tell) => {
        const row = selectState.get(campaign.id);
        const before = row === undefined ? undefined : campaignOf(row);
        const { id, policy, account, group, state, step, size, begunAt, reason } = campaign;
        put.run(id, policy, group, state, begunAt, JSON.stringify(campaign));
        if (before?.state === state && before.step === step) return;
        const { judged, verified, halts } = campaign;
        const from = before?.state;
        tell({
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
      }),
    nextCampaignId: (policy) => `${policy}/${Number(number.get(policy)?.['last'])}`,
  };
}
