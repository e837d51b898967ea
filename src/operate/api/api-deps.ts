/** What the JSON API reads and asks. */
import type { Outage } from '#foundation/domain/outage.ts';
import type { OwnCommand } from '#foundation/domain/own-command.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { ObservationBoard } from '#observe/observations/board.ts';
import type { AuditHead } from '#automate/ledger/audit-log.ts';
import type { Pauses } from '#automate/ledger/pauses.ts';
import type { PlanReader } from '#automate/ledger/plans.ts';
import type { Reports } from '#automate/ledger/reports.ts';
import type { Decided, Verbs } from '#automate/ledger/verbs.ts';
import type { ProbeDeps } from '../http/probes.ts';
import type { Route, RouteContext } from '../http/route.ts';
import type { ApiUsage, LabelView } from './status-views.ts';

/** The parts of the ledger that the API shows. */
type LedgerReader = Reports & PlanReader & Pick<Pauses, 'pauses'>;

/** What a person asks of the engine. A decision may have to wait until the engine was exchanged; a pause never waits. */
export interface Commands extends Pick<Verbs, 'conditions' | 'plan' | 'apply' | 'explain' | 'pause'> {
  approve(...decision: Parameters<Verbs['approve']>): Decided | Promise<Decided>;
  reject(...decision: Parameters<Verbs['reject']>): Decided | Promise<Decided>;
  unpause(...lifted: Parameters<Verbs['unpause']>): number | Promise<number>;
}

export interface ApiDeps extends ProbeDeps {
  readonly clock: Clock;
  readonly board: ObservationBoard;
  readonly ledger: LedgerReader;
  policies(): readonly PolicyStatus[];
  /** What a person may ask of the engine. */
  readonly engine: Commands;
  readonly state: StateVerbs;
  /** Loads the configuration again; absent where there is no file of it. */
  reload?(by: string): Promise<ReloadOutcome>;
  readonly accounts: readonly {
    readonly name: string;
    readonly messageApiUrl?: string;
    readonly managementApiUrl?: string;
    readonly dlqRetentionMs?: number;
  }[];
  /** Destinations of an account that are down; undefined when that is not known. */
  outages(account: string): readonly Outage[] | undefined;
  apiUsage?(account: string): readonly ApiUsage[];
  labels?(): readonly LabelView[];
  /** A command that runs as it is printed; default: `opsd` on the path. */
  readonly command?: OwnCommand;
  readonly version: string;
  readonly configHash?: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
}

export type ApiRoute = Route<ApiDeps>;
export type ApiContext = RouteContext<ApiDeps>;

/** Result of a reload. With `changed` the daemon runs with the new configuration in a moment. */
type ReloadOutcome =
  | {
      readonly ok: true;
      readonly changed: boolean;
      /** Whether web configuration files alone have changed, which hold at once. */
      readonly webConfig: boolean;
      /** Of the configuration that is good. */
      readonly hash: string;
    }
  | { readonly ok: false; /** What is wrong, with file, line and column. */ readonly message: string };

/** What commands ask of the store. */
interface StateVerbs {
  /** Where the audit log ends; undefined while nothing was written. */
  auditHead(): AuditHead | undefined;
  /** A copy as of one moment, on the daemon's machine. Rejects with words for its operator. */
  backup(file: string): Promise<{ readonly bytes: number }>;
  /** @returns why it was not to be trusted until now; undefined when nothing was to be adopted */
  adopt(reason: string, by: string): string | undefined;
}
