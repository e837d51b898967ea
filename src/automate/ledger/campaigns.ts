/** Campaigns of resume policies. */
import type { Campaign } from '#foundation/domain/campaign.ts';
import type { ActionRecord } from './intents.ts';

/** Keeps the campaigns of resume policies. */
export interface Campaigns {
  /** Durable. The campaign of a policy and group that has not ended; a new one has an id of its own. */
  campaign(policy: string, group: string): Campaign | undefined;
  campaigns(): readonly Campaign[];
  saveCampaign(campaign: Campaign): void;
  nextCampaignId(policy: string): string;
  /** The acts of one step. */
  stepActs(campaign: string, step: number): readonly ActionRecord[];
}
