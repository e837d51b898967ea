/** Access of the reading views to the rest of the daemon. */
import type { Canaries } from '#foundation/domain/canary.ts';
import type { AccountBudget } from '#foundation/domain/known-budget.ts';
import type { AuditReader } from '#automate/ledger/audit-reading.ts';
import type { Raises } from '#automate/ledger/usage.ts';
import type { PolicyMemory } from '#automate/ledger/runs.ts';
import type { LiveReads } from './live-reads.ts';
import type { MessageSearches } from './messages.ts';
import type { FlowControlHistory } from '#observe/observations/flow-control-history.ts';

export interface ReadingPorts {
  readonly flowControlHistory: Pick<FlowControlHistory, 'of' | 'bucketMs'>;
  readonly canaries: Canaries;
  readonly spend: SpendPort;
  readonly audit: Pick<AuditReader, 'search' | 'verify'>;
  /** Bounded reads of the service. */
  readonly liveReads: LiveReads;
  /** Searches of the log that a cursor can continue. */
  readonly searches: MessageSearches;
  /** Configuration of the running daemon, without secrets. */
  configuration(): RunningConfiguration;
  /** Scopes of a policy; undefined if it is not in the running configuration. */
  policyScopes(policy: string, ledger: Pick<PolicyMemory, 'policyVersions'>): Promise<PolicyScopes | undefined>;
  /** Runs the policy tests beside the file of a policy; undefined if there are none. */
  policyTests(policy: string): Promise<PolicyTestResults | undefined>;
}

/** Results of the policy tests of one policy. */
export interface PolicyTestResults {
  /** Absolute path. */
  readonly file: string;
  /** Problems of an invalid file. */
  readonly problems?: string;
  readonly tests: readonly {
    readonly name: string;
    readonly line: number;
    /** Line of the failed step, and what differs; absent if the test passes. */
    readonly failed?: string;
  }[];
}

/** Facts about money. */
interface SpendPort {
  /** Budgets of all accounts. @throws if the store cannot be read */
  budgets(ledger: Pick<Raises, 'budgetChangesOf'>): Promise<ReadonlyMap<string, AccountBudget>>;
  /** Counts of log entries by value of the configured dimension, of each account that has one. */
  dimensions(): Promise<ReadonlyMap<string, DimensionCounts>>;
}

export interface DimensionCounts {
  readonly name: string;
  readonly counts: readonly ValueCount[];
}

/** Log entries of one value of the configured dimension, since the store began to count. */
export interface ValueCount {
  readonly value: string;
  /** Entries by state. */
  readonly states: Readonly<Record<string, number>>;
}

export interface RunningConfiguration {
  /** Hash of the running configuration. */
  readonly hash: string;
  /** Absolute paths of its files: the configuration, then the policy files. */
  readonly files: readonly string[];
  /** Settings in use, with all defaults and without secrets. Durations are milliseconds. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** The same settings as lines of YAML. */
  readonly yaml: readonly string[];
  /** Place of each policy: `file:line`. */
  readonly policies: readonly { readonly name: string; readonly source: string }[];
  /** Absent if the daemon was not started from a file. */
  readonly reload?: {
    /** True if the last load succeeded. */
    readonly ok: boolean;
    /** Time of the last successful load. */
    readonly goodAt: number;
    /** Problems of the failed load, one on each line, with file, line, and column. */
    readonly problems: readonly string[];
    /** True if all policies are in audit because the changed configuration is invalid. */
    readonly auditOnly: boolean;
  };
}

/** Scope of a policy: the settings that decide what it is allowed to act on. */
export type Scope = Readonly<Record<string, unknown>>;

export interface PolicyScopes {
  readonly present: Scope;
  /** Absent if the policy has not run yet. */
  readonly atLastRun?: Scope;
}
