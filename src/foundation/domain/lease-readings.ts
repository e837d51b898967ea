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
