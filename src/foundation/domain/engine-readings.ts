/** Readings of the engine for the metrics, without its policies. Times are epoch milliseconds. */
import type { Deploy } from './deploy.ts';

export interface EngineReadings {
  /** Number of actions whose outcome is unknown. */
  readonly unknownOutcomes: number;
  /** Start of the oldest action without a final outcome; absent if there is none. */
  readonly oldestIntentAt?: number;
  /** Plans that are pending approval. */
  readonly approvals: readonly { readonly account: string; readonly policy: string; readonly since: number }[];
  /** Last deploys, newest first. */
  readonly deploys: readonly Pick<Deploy, 'account' | 'of' | 'version' | 'at'>[];
  /** Remaining amounts of the sliding windows. */
  readonly caps: readonly {
    /** `engine`, `engine deletes`, `account/NAME`, `policy/NAME`. */
    readonly scope: string;
    readonly window: string;
    readonly remaining: number;
  }[];
  /** Pause states of `engine` and of `policy/NAME` for each policy. */
  readonly paused: ReadonlyMap<string, boolean>;
  /** True if this process is the only executor of the store. */
  readonly isLeader: boolean;
}

/** Leases of the accounts as one replica sees them. */
export interface LeaseReadings {
  readonly accounts: readonly LeaseReading[];
  /** Number of accounts without a live owner; absent while the owner of an account is unknown. */
  readonly unowned?: number;
}

interface LeaseReading {
  readonly account: string;
  /** True if this replica owns the account now. */
  readonly isOwn: boolean;
  readonly epoch: number;
  /** How often this process took the account after another owner. */
  readonly takeovers: number;
}
