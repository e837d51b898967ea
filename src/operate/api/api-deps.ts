/** Dependencies of the JSON API. */
import type { Outage } from '#foundation/domain/destination-state.ts';
import type { OwnCommand } from '#foundation/domain/own-command.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { Acknowledgment, Incident } from '#foundation/domain/incident.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { IncidentWatch } from '#observe/incidents/incident-watch.ts';
import type { BoardReader } from '#observe/observations/board.ts';
import type { AuditHead } from '#automate/ledger/audit-log.ts';
import type { Deploys } from '#automate/ledger/deploys.ts';
import type { History, LineageHistory } from '#automate/ledger/history.ts';
import type { BodyReads, BodyStore } from '#automate/ledger/kept-bodies.ts';
import type { RetriggerReads } from '#automate/ledger/operations.ts';
import type { StatusReads } from '#automate/ledger/ledger.ts';
import type { PlanReader } from '#automate/ledger/plans.ts';
import type { Reports } from '#automate/ledger/reports.ts';
import type { Signals } from '#automate/ledger/signals.ts';
import type { TimelineReader } from '#automate/ledger/timeline.ts';
import type { Raises } from '#automate/ledger/usage.ts';
import type { EngineCommands } from '#automate/ledger/commands.ts';
import type { Operation } from '#service/operations.ts';
import type { ProbeDeps } from '../http/probes.ts';
import type { Route, RouteContext } from '../http/route.ts';
import type { Performed } from '../operations/perform.ts';
import type { AskedOperation } from '../operations/ports.ts';
import type { ReadingPorts } from './reading-ports.ts';
import type { reload } from '../contract/control.ts';
import type { DeployReport, ReportedDeploys } from '../contract/deploys.ts';
import type { AnswerOf } from '../contract/route.ts';
import type { AccountLease, AccountView, ApiUsage, LabelView } from '../contract/status.ts';

/** Parts of the ledger that the API shows. */
export interface LedgerReader
  extends
    Reports,
    PlanReader,
    StatusReads,
    TimelineReader,
    Deploys,
    BodyReads,
    RetriggerReads,
    Pick<History, 'actionsOn' | 'resumedFrom' | 'lineagesOfRuns' | 'stepsOf'>,
    Pick<Raises, 'budgetChangesOf'>,
    Pick<Signals, 'deadLetters'> {
  /** Gives `use` a ledger whose reads see the store at one moment. @param signal ends the view */
  view<T>(use: (ledger: LedgerReader) => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** Incidents, and the facts about them that their pages and the API show. */
export interface Incidents extends Pick<
  IncidentWatch,
  'all' | 'find' | 'firstExpiresAt' | 'incidentOf' | 'memberIds' | 'deadLetters' | 'marks' | 'settled'
> {
  /** Delivery attempts to a host in the last 15 minutes; undefined if unknown. */
  attempts(account: string, host: string): { readonly delivered: number; readonly all: number } | undefined;
  /**
   * Number of these dead letters that each policy of the account selects. Policies about others are not in the map.
   *
   * @param members.lineages histories of the runs, from the ledger
   */
  selectedBy(
    account: string,
    members: {
      readonly runs: readonly WorkflowDlqEntry[];
      readonly deadLetters: readonly DeadLetter[];
      readonly lineages: ReadonlyMap<string, LineageHistory>;
    },
  ): ReadonlyMap<string, number>;
  /** Records that an operator knows of an incident, or snoozed it, in the audit log first. */
  acknowledge(incident: Incident, person: Omit<Acknowledgment, 'at' | 'endedAt'>): Promise<Incident>;
  /**
   * Reads the complete row of an entry of the workflow DLQ, with at most one request, within the request budget.
   *
   * @returns the row; a text if there is none: the reason
   */
  readRow(
    account: string,
    entry: { readonly dlqId: string; readonly workflowRunId: string },
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, unknown>> | string>;
}

export interface ApiDeps extends ProbeDeps, ReadingPorts {
  readonly clock: Clock;
  readonly board: BoardReader;
  readonly ledger: LedgerReader & Pick<BodyStore, 'noteEdit'>;
  /** @param ledger view of the ledger; default: one of its own */
  policies(ledger?: StatusReads): Promise<readonly PolicyStatus[]>;
  /** Engine, for operators' commands. A decision may wait while the engine is replaced; a pause never waits. */
  readonly engine: EngineCommands;
  readonly state: StateCommands;
  /** Performs an operation of the service. Rejects with an `OperationError`. */
  operate(operation: Operation, asked: AskedOperation): Promise<Performed>;
  /** Stores the report of a deploy. Rejects with an `HttpError`. */
  deploy(report: DeployReport, by: string): Promise<ReportedDeploys['deploys']>;
  /** Loads the configuration again; absent if it has no file. */
  reload?(by: string): Promise<ReloadOutcome>;
  readonly accounts: readonly Omit<AccountView, 'usage' | 'lease'>[];
  /** Brand prefix of the service's own headers; default: `Svc`. */
  headerPrefix?(account: string): string | undefined;
  /** This process among those that share the store; absent if none can. */
  readonly replica?: {
    readonly name: string;
    /** Reason why the leases cannot be read. */
    readonly problem: string | undefined;
    owners(): ReadonlyMap<string, AccountLease>;
  };
  /** Destinations of an account that are down; undefined if unknown. */
  outages(account: string): readonly Outage[] | undefined;
  readonly incidents: Incidents;
  apiUsage?(account: string): readonly ApiUsage[];
  labels?(): readonly LabelView[];
  /** Formats a command that can be run as printed; default: `opsd` from the path. */
  readonly command?: OwnCommand;
  /** Socket that commands need in `OPSD_SOCKET`; absent if they find the daemon without it. */
  readonly socket?: string;
  readonly version: string;
  readonly configHash?: string;
  /** Base URL of the pages; undefined before they are served. */
  pagesUrl?(): string | undefined;
  /** Epoch milliseconds. */
  readonly startedAt: number;
}

export type ApiRoute = Route<ApiDeps>;
export type ApiContext = RouteContext<ApiDeps>;

/** Result of a reload. With `changed`, the daemon soon runs with the new configuration. */
export type ReloadOutcome =
  | ({ readonly ok: true } & AnswerOf<typeof reload>)
  | { readonly ok: false; /** What is wrong, with file, line and column. */ readonly message: string };

/** Commands to the store. */
export interface StateCommands {
  /** Last record of the audit log; undefined while the log is empty. */
  auditHead(): Promise<AuditHead | undefined>;
  /** Writes a consistent copy on the daemon's machine. Rejects with a message for the operator. */
  backup(file: string): Promise<{ readonly bytes: number }>;
  /** @returns the reason why the store was not trusted; undefined if nothing had to be adopted */
  adopt(reason: string, by: string): Promise<string | undefined>;
  /** @returns the counters that were reset, with their former values */
  resetCounters(reset: {
    readonly account: string;
    readonly metric: string;
    /** Only counters with these label values. */
    readonly labels: Readonly<Record<string, string>>;
    readonly by: string;
    readonly reason: string;
  }): Promise<readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[]>;
}
