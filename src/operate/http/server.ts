/**
 * The daemon's HTTP server: metrics, health, the first page and the JSON API. Over TCP it only reads, unless a token
 * says otherwise; over the unix socket everything is allowed.
 */
import type { OwnCommand } from '#foundation/domain/own-command.ts';
import type { Outage } from '#foundation/domain/outage.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { AuditHead } from '#automate/ledger/audit-log.ts';
import type { Ledger } from '#automate/ledger/ledger.ts';
import type { Verbs } from '#automate/ledger/verbs.ts';
import type { ObservationBoard } from '#observe/observations/board.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Logger } from '#foundation/platform/logger.ts';
import type { Secret } from '#foundation/platform/secret.ts';
import type { ListenAddress } from '#foundation/platform/settings.ts';
import { LOCAL_ACCESS, type Access, type ApiToken, type Role } from './access.ts';
import type { Door } from './door.ts';
import { startListener, type RunningServer } from './http-listener.ts';
import type { MetricsFormat } from './metrics-format.ts';
import type { PageLink } from '../pages/page.ts';
import { Passwords, threadComparer } from './passwords.ts';
import type { ProbeDeps } from './probes.ts';
import { answer } from './routes.ts';
import type { SharedBody } from './shared-body.ts';
import type { ApiUsage, LabelView } from '../api/status.ts';

/** What is shown of the ledger. */
type LedgerReader = Pick<
  Ledger,
  'recentActions' | 'lastRuns' | 'unknownOutcomes' | 'pauses' | 'storedPlans' | 'storedPlan' | 'runs' | 'action'
>;

export interface ServerDeps extends ProbeDeps {
  readonly clock: Clock;
  readonly board: ObservationBoard;
  readonly ledger: LedgerReader;
  readonly logger: Logger;
  metrics(format: MetricsFormat): Promise<SharedBody & { readonly contentType: string }>;
  policies(): readonly PolicyStatus[];
  /** What a person may ask of the engine. */
  readonly engine: Verbs;
  readonly state: StateVerbs;
  /** Loads the configuration again; absent where there is no file of it. */
  reload?(by: string): Promise<ReloadOutcome>;
  /** Who may do what over TCP; without any, and without users, it only reads. */
  readonly tokens?: readonly ApiToken[];
  /** What the web configuration file says of TCP: its users are let in. */
  readonly door?: Door;
  /** Names of the daemon for which requests over TCP are answered, besides the known ones. */
  readonly hosts?: readonly string[];
  /** Roles of users; `viewer` unless given. */
  readonly roles?: ReadonlyMap<string, Role>;
  /** What those may over TCP who show nothing; `viewer` unless given. */
  readonly anonymous?: 'viewer' | 'none';
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
  /** Shown on the page beside the server's own addresses. */
  readonly links: readonly PageLink[];
  readonly version: string;
  readonly configHash?: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
}

/** What came of loading the configuration again. With `changed` the daemon ends and starts anew in a moment. */
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

const NOBODY: ReadonlyMap<string, Secret> = new Map();

/** @throws {ListenError} saying which address, why, and what to do */
export async function startServer(
  deps: ServerDeps,
  listen: ListenAddress | { readonly socketPath: string },
): Promise<RunningServer> {
  const { clock, logger, door } = deps;
  if ('socketPath' in listen) {
    return startListener({
      clock,
      logger,
      listen,
      answer: (asked) => answer({ ...asked, deps, access: LOCAL_ACCESS }),
    });
  }
  const comparer = threadComparer(clock);
  const access: Access = {
    isLocal: false,
    tokens: deps.tokens ?? [],
    users: () => door?.web.users ?? NOBODY,
    roles: deps.roles ?? new Map(),
    passwords: new Passwords(comparer),
    anonymous: deps.anonymous ?? 'viewer',
  };
  const server = await startListener({
    clock,
    logger,
    listen,
    hosts: deps.hosts ?? [],
    ...(door !== undefined && { door }),
    answer: (asked) => answer({ ...asked, deps, access }),
  });
  const close = async (): Promise<void> => {
    comparer[Symbol.dispose]();
    await server.close();
  };
  return { address: server.address, close, [Symbol.asyncDispose]: close };
}
