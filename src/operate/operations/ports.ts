/** Dependencies of operations that operators send by name. */
import type { Intents } from '#automate/ledger/intents.ts';
import type { Operations, RetriggeredRun } from '#automate/ledger/operations.ts';
import type { Trust } from '#automate/ledger/trust.ts';
import type { BudgetKnowledge } from '#foundation/domain/known-budget.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Operation } from '#service/operations.ts';
import type { RawCalls } from '#service/raw-calls.ts';
import type { Role } from '../http/access.ts';
import type { TokenFiles } from './token-file.ts';

export interface OperationAccount {
  readonly name: string;
  /** Id in the management API. */
  readonly accountId?: string;
  readonly raw: RawCalls;
  /** Use of the daily request budget. */
  usage(api: Operation['api']): { readonly usedToday: number; readonly allowedPerDay: number };
  /** Absolute paths; absent if the token is not in a file. */
  readonly tokenFile?: string;
  readonly actionTokenFile?: string;
  /** True if writes have a token of their own. */
  readonly hasActionToken: boolean;
}

export interface OperationDeps {
  readonly accounts: readonly OperationAccount[];
  readonly ledger: Operations & Pick<Trust, 'leaseLost' | 'mustBeAdopted'> & Pick<Intents, 'openActions'>;
  readonly clock: Clock;
  /** Reason for a pause of the whole engine, the kill switch included. */
  paused(): Promise<string | undefined>;
  /** Reason why the mode of an account allows no action on failed runs. */
  reducedMode(account: string): string | undefined;
  budget(account: string): Promise<BudgetKnowledge | undefined>;
  /** Reports that the end of an operation could not be recorded. */
  onUnrecorded(message: string): void;
  readonly tokenFiles: TokenFiles;
}

export interface AskedOperation {
  readonly given: Readonly<Record<string, unknown>>;
  readonly account?: string;
  /** Name that the caller typed. */
  readonly confirm?: string;
  /** Failed run that a trigger starts again. Its entry is claimed, and pauses and modes hold it. */
  readonly retrigger?: RetriggeredRun;
  /** True over the unix socket: the caller may name files of this machine. */
  readonly isLocal: boolean;
  /** Aborts a read. A write is never aborted: its effect would be unknown. */
  readonly signal: AbortSignal;
  /** @throws if the caller lacks the role */
  allow(needs: Role): { readonly by: string };
}
