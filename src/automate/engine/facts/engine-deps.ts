/** Dependencies of the engine. All its knowledge comes through this interface. */
import type { Actions } from '../../actions/index.ts';
import type { ResumedMessage, ResumeEnd } from '#foundation/domain/ended-attempts.ts';
import type {
  BudgetAssertion,
  BudgetDoubt,
  BudgetFacts,
  BudgetRaise,
  KnownBudget,
} from '#foundation/domain/known-budget.ts';
import type { PolicyMode } from '#foundation/domain/plan.ts';
import type { Deliveries, Guard } from '../../guardrails/guard.ts';
import type { KeptBodies } from '../../ledger/kept-bodies.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Pause } from '../../ledger/pauses.ts';
import type { ObservationBoard } from '#observe/observations/board.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { PreconditionFacts } from '../../policies/facts.ts';
import type { Policy } from '../../policies/policy.ts';
import type { EngineSettings } from '../../policies/settings.ts';

/** Facts about an account at the time of the call. Undefined means unknown. */
export interface EngineFacts {
  /** Messages to a host that ended within the window (milliseconds), according to the service's log. */
  deliveries(account: string, host: string, windowMs: number): Deliveries | undefined;
  /** Epoch milliseconds of the last 429, or of the last time that the daemon's own quota ran out. */
  refusedAt(account: string): number | undefined;
  /**
   * Local clock minus the service's, in milliseconds. For a service without `Date` header: how far the local clock was
   * set since the start. Undefined before the first response.
   */
  clockSkewMs(account: string): number | undefined;
  /** Time since which the clock has not been set. Earlier timestamps may be less exact. */
  steadySince(): number;
  preconditions(account: string): Promise<PreconditionFacts>;
  budget(account: string): Promise<BudgetState & { readonly spend: BudgetFacts }>;
  /** Returns true if the log has shown this end of a message that a repair stamped. */
  resumeEnded(account: string, message: ResumedMessage, end: ResumeEnd['end']): boolean;
  /** Number of messages in the DLQ, from the statistics. */
  dlqMessages(account: string): number | undefined;
}

/** Budget of an account, with the reason to doubt it. */
export interface BudgetState {
  /** Changes of the ledger, oldest first. */
  readonly changes: readonly BudgetRaise[];
  readonly known?: KnownBudget;
  /** Configured budget, even if a newer one is known. */
  readonly asserted?: BudgetAssertion;
  readonly doubt?: BudgetDoubt;
}

/** Configured terms of an account. */
interface AccountTerms {
  /** Upper limit for the mode of its policies. */
  readonly mode: PolicyMode;
  /** Id in the management API; absent if the account has none. */
  readonly accountId?: string;
  readonly dlqRetentionMs?: number;
  readonly priceUsdPer100kMessages?: number;
}

export interface EngineDeps {
  readonly policies: readonly Policy[];
  readonly settings: EngineSettings;
  readonly accounts: ReadonlyMap<string, AccountTerms>;
  readonly actions: Actions;
  readonly ledger: Ledger;
  readonly board: ObservationBoard;
  readonly facts: EngineFacts;
  /** Bodies of dead letters. Without them, no message is published again. */
  readonly bodies?: Pick<KeptBodies, 'states'>;
  readonly clock: Clock;
  readonly events: EventBus;
  /** OPSD_MODE. It can only lower the mode. */
  readonly ceiling?: PolicyMode;
  /** Reason why all policies are in audit mode now, despite the configuration. Checked before every request. */
  auditOnly?(): string | undefined;
  /** Pauses that an earlier engine could not store. It may still add one: a write of it may fail after its end. */
  readonly unwrittenPauses?: Map<string, Pause>;
  /** Place of this engine among the engines of several replicas. Absent if it is the only one on its ledger. */
  readonly shared?: {
    /** Name of the replica. */
    readonly name: string;
    /** True for the one engine that reports what belongs to no account: the pauses of the engine, for example. */
    readonly isLeader: boolean;
    /** Names of all configured policies. Other replicas run those that `policies` lacks. */
    readonly allPolicies: ReadonlySet<string>;
    /** Returns true if another engine may report on the account now. Without an account: on what belongs to none. */
    hasLost(account?: string): boolean;
  };
  /** Reason why everything is paused, or undefined. Checked before every request. An error counts as a pause. */
  killSwitch(): string | undefined;
  /** Milliseconds after which a lost request has arrived or never will; default 5 min. */
  readonly settleMs?: number;
  /** Minimum milliseconds between two full listings of an account that look for outcomes; default 1 min. */
  readonly listEveryMs?: number;
  /** Milliseconds that breakers stay open after each consecutive halt; default 30 min, 2 h, 6 h. */
  readonly breakerMs?: readonly number[];
  /** Folder of the archive of entries that manual plans delete. Without it they delete no workflow runs. */
  readonly archiveDir?: string;
  readonly guards: readonly Guard[];
}
