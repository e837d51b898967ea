/** Rows of the store that a generation of the daemon works on. */
export interface Scope {
  /** Accounts of the rows. Absent: all rows, also those of accounts that the configuration no longer has. */
  readonly accounts?: readonly string[];
  /**
   * Accounts whose rows belong to other replicas. Only the leader has this list, which may be empty. It works on all
   * other rows: those of `accounts`, of accounts that no replica configures, and of the store itself.
   */
  readonly others?: readonly string[];
  /** Replica that works on rows that belong to no account; '' without replicas. */
  readonly replica: string;
}

/** Scope of a process that has the store for itself. */
export const WHOLE: Scope = { replica: '' };

/** Lease of the leader, as an account. */
const LEADER = '';

/** Returns the account whose lease guards a change of an account's rows; undefined without replicas. */
export function leaseFor({ accounts }: Scope, account: string): string | undefined {
  if (accounts === undefined) return undefined;
  return accounts.includes(account) ? account : LEADER;
}

/** Returns true if a scope has the rows of an account. */
export function isInScope({ accounts, others }: Scope, account: string): boolean {
  if (others !== undefined) return !others.includes(account);
  return accounts?.includes(account) ?? true;
}

/** Returns the scope after the loss of a lease. */
export function withoutLease(scope: Scope, account: string): Scope {
  const { accounts = [], others, replica } = scope;
  if (account === LEADER) return { accounts, replica };
  const kept = accounts.filter((one) => one !== account);
  return { accounts: kept, others: others && [...others, account], replica };
}
