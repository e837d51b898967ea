/**
 * Runs that left the workflow DLQ because the daemon resumed or deleted them. No listing needs to confirm their
 * departure. A listing that was read during or soon after it must not restore them.
 */
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';

/**
 * Maximum time that a service may still list a run after it accepted the request. A listing that began later is
 * trusted.
 */
const LISTED_STILL_MS = 300_000;
/** Time that a departed run counts as a recent failure. Guards look back at most 15 minutes. */
const KEPT_MS = 900_000;

interface Departed {
  /** Monotonic. */
  readonly at: number;
  /** Run as listed; absent until a listing has it. */
  row?: WorkflowDlqEntry;
}

export class Departures {
  readonly #accounts = new Map<string, Map<string, Departed>>();

  /** @returns the rows without the departed runs */
  leave(
    account: string,
    left: { readonly dlqIds: ReadonlySet<string>; readonly rows: readonly WorkflowDlqEntry[]; readonly at: number },
  ): readonly WorkflowDlqEntry[] {
    const known = getOrAdd(this.#accounts, account, () => new Map<string, Departed>());
    for (const [dlqId, { at }] of known) if (left.at - at > KEPT_MS) known.delete(dlqId);
    for (const dlqId of left.dlqIds) known.set(dlqId, { ...known.get(dlqId), at: left.at });
    return this.without(account, left.rows, left.at);
  }

  /** @param since monotonic time when the reading of the rows began */
  without(account: string, rows: readonly WorkflowDlqEntry[], since: number): readonly WorkflowDlqEntry[] {
    const known = this.#accounts.get(account);
    if (known === undefined || known.size === 0) return rows;
    return rows.filter((row) => {
      const departed = known.get(row.dlqId);
      if (departed === undefined || departed.at + LISTED_STILL_MS < since) return true;
      departed.row ??= row;
      return false;
    });
  }

  /** Returns the rows that left in the last 15 minutes, as listed. */
  recent(account: string, now: number): readonly WorkflowDlqEntry[] {
    const known = [...(this.#accounts.get(account)?.values() ?? [])];
    return known.flatMap(({ at, row }) => (row === undefined || now - at > KEPT_MS ? [] : [row]));
  }
}
