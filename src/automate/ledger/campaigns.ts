/** Campaigns of resume policies. */
import type { Campaign } from '#foundation/domain/campaign.ts';
import type { ActionRecord } from './intents.ts';

/** Storage of the campaigns of resume policies. */
export interface Campaigns {
  /** Active campaigns, at most one for each policy and group. */
  campaigns(): Promise<readonly Campaign[]>;
  /** Actions of the current step of each campaign, by the campaign's id. */
  stepActs(campaigns: readonly Pick<Campaign, 'id' | 'step'>[]): Promise<ReadonlyMap<string, readonly ActionRecord[]>>;
  /**
   * Changes the active campaign of a group, in one transaction with its reading. A new campaign gets an id of its own.
   *
   * @param change gets the campaign, if any, and the actions of its step; returns the campaign to save, or the same one
   *   or undefined if nothing changes
   * @returns the saved campaign; undefined if nothing changed
   */
  changeCampaign(
    of: Pick<Campaign, 'policy' | 'account' | 'group'>,
    change: (campaign: Campaign | undefined, acts: readonly ActionRecord[]) => Campaign | undefined,
  ): Promise<Campaign | undefined>;
}
