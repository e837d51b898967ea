/** Facts about a group of entries: the health of its destination, and the rate of new failures. */
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import type { RepairPolicy, WorkflowDlqPolicy } from '../../policies/policy.ts';
import type { QuotaFacts, Arrivals, GroupFacts } from '../../guardrails/guard.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Windows for arrivals of a group and of the account. */
const ARRIVALS_MS = 10 * MINUTE_MS;
const ACCOUNT_ARRIVALS_MS = 15 * MINUTE_MS;
export const DELIVERIES_MS = 15 * MINUTE_MS;

/** Known entries of an account that failed within a day, each once. */
export class Population {
  readonly #entries: WorkflowDlqEntry[] = [];
  readonly #now: number;

  /**
   * @param listings rows of the current listing, of the collector's last one, if any, and those that left it recently
   */
  constructor(listings: readonly (readonly WorkflowDlqEntry[])[], now: number) {
    const ids = new Set<string>();
    for (const rows of listings)
      for (const entry of rows) {
        if (now - entry.createdAt > DAY_MS || ids.has(entry.dlqId)) continue;
        ids.add(entry.dlqId);
        this.#entries.push(entry);
      }
    this.#now = now;
  }

  /**
   * Counts the failures of a group in the last 10 minutes, and the mean per 10 minutes of the day before. All entries
   * are walked once, for any number of groups.
   *
   * @param isReplaced returns true for failures of what a deploy has replaced since
   */
  arrivals(
    groupOf: (entry: WorkflowDlqEntry) => string,
    isReplaced: (entry: WorkflowDlqEntry) => boolean = () => false,
  ): (group: string) => GroupFacts['arrivals'] {
    const counts = new Map<string, { last10m: number; last5m: number; before: number }>();
    for (const entry of this.#entries) {
      if (isReplaced(entry)) continue;
      const age = this.#now - entry.createdAt;
      const count = getOrAdd(counts, groupOf(entry), () => ({ last10m: 0, last5m: 0, before: 0 }));
      if (age <= ARRIVALS_MS) count.last10m++;
      else count.before++;
      if (age <= ARRIVALS_MS / 2) count.last5m++;
    }
    return (group) => {
      const { last10m, last5m, before } = counts.get(group) ?? { last10m: 0, last5m: 0, before: 0 };
      return { last10m, last5m, baseline10m: before / ((DAY_MS - ARRIVALS_MS) / ARRIVALS_MS) };
    };
  }

  /** Failures of the last 15 minutes, with those of the newer half. */
  recent(): QuotaFacts['recentArrivals'] {
    return { ...this.#arrivalsIn(ACCOUNT_ARRIVALS_MS), newer: this.#arrivalsIn(ACCOUNT_ARRIVALS_MS / 2) };
  }

  #arrivalsIn(windowMs: number): Arrivals {
    let all = 0;
    let quota = 0;
    for (const entry of this.#entries) {
      if (this.#now - entry.createdAt > windowMs) continue;
      all++;
      if (entry.responseStatus === 429) quota++;
    }
    return { all, quota };
  }
}

/** Destination host of a group; undefined if the group is empty. */
export function hostOfGroup(group: string): string | undefined {
  return URL.parse(group)?.host ?? (group === '' ? undefined : group);
}

/** Group of an entry: its workflow or the URL of its message, or the host. */
export function groupOf(policy: WorkflowDlqPolicy | RepairPolicy, entry: WorkflowDlqEntry): string {
  if ('ramp' in policy && policy.ramp.groupBy === 'destination') {
    return URL.parse(entry.workflowUrl)?.host ?? entry.workflowUrl;
  }
  return entry.workflowUrl;
}
