/** Campaigns of resume policies. */
import type { Campaign } from '#foundation/domain/campaign.ts';
import type { ActionRecord } from './intents.ts';

/** Storage of the campaigns of resume policies. */
export interface Campaigns {
  /** Returns the active campaign of a policy and group; each new campaign has its own id. */
  campaign(policy: string, group: string): Campaign | undefined;
  campaigns(): readonly Campaign[];
  saveCampaign(campaign: Campaign): void;
  nextCampaignId(policy: string): string;
  /** Actions of one step. */
  stepActs(campaign: string, step: number): readonly ActionRecord[];
}
