/** Deploys that hooks and operators report. */
import type { Deploy } from '#foundation/domain/deploy.ts';

export interface ReportedDeploy extends Omit<Deploy, 'id' | 'isRollback'> {
  /** True if the deploy itself failed. */
  readonly failed: boolean;
  /** Reporter, for the record. */
  readonly by: string;
}

/** Inbox for reports. */
export interface DeployInbox {
  /**
   * Stores a deploy durably, with a pending trigger of each policy. It is a roll-back if it failed, or if its version was
   * deployed before another one. A roll-back triggers nothing.
   *
   * @param policies policies that wait for a deploy of the account
   * @returns the stored deploy; `isNew` is false for a repeated report, which changes nothing
   */
  recordDeploy(
    deploy: ReportedDeploy,
    policies: readonly string[],
  ): Promise<{ readonly deploy: Deploy; readonly isNew: boolean }>;
}

export interface Deploys {
  /** Deploys of these accounts since a time, newest first, at most 200 of each. */
  deploys(accounts: readonly string[], since: number): Promise<readonly Deploy[]>;
}
