/**
 * The daemon's HTTP server: metrics, health, the first page and the JSON API. Over TCP it only reads, unless a token
 * says otherwise; over the unix socket everything is allowed.
 */
import type { PolicyStatus } from '../domain/policy-status.ts';
import type { AuditHead } from '../ledger/audit-log.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Verbs } from '../ledger/verbs.ts';
import type { ObservationBoard } from '../observations/board.ts';
import type { Clock } from '../platform/clock.ts';
import type { Logger } from '../platform/logger.ts';
import type { ListenAddress } from '../platform/settings.ts';
import type { ApiToken } from './access.ts';
import { startListener, type RunningServer } from './http-listener.ts';
import type { MetricsFormat } from './metrics-format.ts';
import type { PageLink } from './page.ts';
import { answer } from './routes.ts';
import type { SharedBody } from './shared-body.ts';
import type { ApiUsage, LabelView } from './status.ts';

/** What is shown of the ledger. */
type LedgerReader = Pick<
  Ledger,
  'recentActions' | 'lastRuns' | 'unknownOutcomes' | 'pauses' | 'storedPlans' | 'storedPlan' | 'runs' | 'action'
>;

export interface ServerDeps {
  readonly clock: Clock;
  readonly board: ObservationBoard;
  readonly ledger: LedgerReader;
  readonly logger: Logger;
  metrics(format: MetricsFormat): Promise<SharedBody & { readonly contentType: string }>;
  /** Whether the scheduler turns; never depends on the service. */
  health(): { readonly healthy: boolean; readonly detail: string };
  readiness(): { readonly ready: boolean; readonly detail: string };
  policies(): readonly PolicyStatus[];
  /** What a person may ask of the engine. */
  readonly engine: Verbs;
  readonly state: StateVerbs;
  /** Loads the configuration again; absent where there is no file of it. */
  reload?(by: string): Promise<ReloadOutcome>;
  /** Who may do what over TCP; without any it only reads. */
  readonly tokens?: readonly ApiToken[];
  readonly accounts: readonly {
    readonly name: string;
    readonly messageApiUrl?: string;
    readonly managementApiUrl?: string;
  }[];
  apiUsage?(account: string): readonly ApiUsage[];
  labels?(): readonly LabelView[];
  /** Shown on the page beside the server's own addresses. */
  readonly links: readonly PageLink[];
  readonly version: string;
  readonly configHash?: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
}

/** What came of loading the configuration again. With `changed` the daemon ends and starts anew in a moment. */
type ReloadOutcome =
  | { readonly ok: true; readonly changed: boolean; /** Of the configuration that is good. */ readonly hash: string }
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

/** @throws {ListenError} saying which address, why, and what to do */
export function startServer(
  deps: ServerDeps,
  listen: ListenAddress | { readonly socketPath: string },
): Promise<RunningServer> {
  const { clock, logger } = deps;
  const access = { isLocal: 'socketPath' in listen, tokens: deps.tokens ?? [] };
  return startListener({ clock, logger, listen, answer: (asked) => answer({ ...asked, deps, access }) });
}
