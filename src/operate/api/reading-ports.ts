/** Access of the reading views to the rest of the daemon. */
import type { Canaries } from '#foundation/domain/canary.ts';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import type { AccountBudget } from '#foundation/domain/known-budget.ts';
import type { AuditReader } from '#automate/ledger/audit-reading.ts';
import type { KeptBodies } from '#automate/ledger/kept-bodies.ts';
import type { Raises } from '#automate/ledger/usage.ts';
import type { PolicyMemory } from '#automate/ledger/runs.ts';
import type { ValueCount } from '../contract/readings.ts';
import type { ConfigurationView } from '../contract/status.ts';
import type { LiveReads } from './live-reads.ts';
import type { MessageSearches } from './messages.ts';
import type { FlowControlHistory } from '#observe/observations/flow-control-history.ts';

export interface ReadingPorts {
  readonly flowControlHistory: Pick<FlowControlHistory, 'of' | 'bucketMs'>;
  /** Bodies of dead letters of messages. */
  readonly bodies: KeptBodies;
  readonly canaries: Canaries;
  readonly spend: SpendPort;
  readonly audit: Pick<AuditReader, 'search' | 'verify'>;
  /** Bounded reads of the service. */
  readonly liveReads: LiveReads;
  /** Searches of the log that a cursor can continue. */
  readonly searches: MessageSearches;
  /** Newest failed deliveries of an account, newest first; undefined if this process has not read its log. */
  failures(account: string): readonly LogEntry[] | undefined;
  /** Configuration of the running daemon, without secrets. */
  configuration(): Omit<ConfigurationView, 'at'>;
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

/** Scope of a policy: the settings that decide what it is allowed to act on. */
type ScopeSettings = Readonly<Record<string, unknown>>;

export interface PolicyScopes {
  readonly present: ScopeSettings;
  /** Absent if the policy has not run yet. */
  readonly atLastRun?: ScopeSettings;
}
