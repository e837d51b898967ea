/** Deploys that a hook or a command reported. Times are epoch milliseconds. */

export interface Deploy {
  /** Unique; ids of later records sort after those of earlier ones. */
  readonly id: string;
  /** Account that the deploy concerns. A deploy of several accounts has a row for each. */
  readonly account: string;
  /** URL prefixes of what was deployed. */
  readonly of: readonly string[];
  readonly version: string;
  /** Link for people. */
  readonly url?: string;
  /** Time of the deploy. */
  readonly at: number;
  readonly receivedAt: number;
  /** True if the deploy was reported as failed, or if its version replaces a later one of the same prefix. */
  readonly isRollback: boolean;
}

export interface DeployLog {
  /** Stores a deploy durably. A repeated report of the same deploy returns the stored one. */
  recordDeploy(deploy: Omit<Deploy, 'id' | 'isRollback'> & { readonly failed: boolean }): Promise<Deploy>;
  /** Returns the deploys of an account at or after a time, newest first. */
  deploysSince(account: string, at: number): Promise<readonly Deploy[]>;
}

/**
 * Returns true if the deploy concerns a URL: a prefix is equal to it, or ends at a boundary in it. A prefix that is only
 * a host concerns both schemes.
 */
export function concerns({ of }: Pick<Deploy, 'of'>, url: string): boolean {
  return of.some((prefix) => {
    const start = prefix.includes('://') ? prefix : `${url.slice(0, url.indexOf('://') + 3)}${prefix}`;
    if (!url.startsWith(start)) return false;
    return start.endsWith('/') || url.length === start.length || '/?#'.includes(url.charAt(start.length));
  });
}
