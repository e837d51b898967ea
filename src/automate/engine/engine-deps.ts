/** What the engine stands on. Everything it knows comes through here. */
import type { Actions } from '../actions/index.ts';
import type { ResumedMessage, ResumeEnd } from '#foundation/domain/ended-attempts.ts';
import type { BudgetAssertion, BudgetDoubt } from '#foundation/domain/known-budget.ts';
import type { PolicyMode } from '#foundation/domain/plan.ts';
import type { Deliveries, Guard } from '../guardrails/guard.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { ObservationBoard } from '#observe/observations/board.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { BudgetFacts, KnownBudget, PreconditionFacts } from '../policies/facts.ts';
import type { Policy } from '../policies/policy.ts';
import type { EngineSettings } from '../policies/settings.ts';

/** What is known of an account at this moment. Undefined is "not known". */
export interface EngineFacts {
  /** Messages to a host that ended within the window (milliseconds), by the service's own log. */
  deliveries(account: string, host: string, windowMs: number): Deliveries | undefined;
  /** Epoch milliseconds of the last 429, or of the daemon's own quota running out. */
  refusedAt(account: string): number | undefined;
  /**
   * Local clock minus the service's, milliseconds; of a service that sends no `Date`, how far the local clock was set
   * since the start. Undefined before the first answer.
   */
  clockSkewMs(account: string): number | undefined;
  /** The moment since which time has run without being set: what was noted before may be less exact. */
  steadySince(): number;
  preconditions(account: string): PreconditionFacts;
  /** `asserted`: what the configuration says, also where something newer is known. */
  budget(account: string): {
    readonly spend: BudgetFacts;
    readonly known?: KnownBudget;
    readonly asserted?: BudgetAssertion;
    readonly doubt?: BudgetDoubt;
  };
  /** Whether the log showed that a message of a resumed run, to its workflow, ended like this. */
  resumeEnded(account: string, message: ResumedMessage, end: ResumeEnd['end']): boolean;
  /** Messages in the DLQ, by the statistics. */
  dlqMessages(account: string): number | undefined;
}

/** What the configuration says of an account. */
interface AccountTerms {
  /** Ceiling for its policies. */
  readonly mode: PolicyMode;
  /** How the management API knows it; absent where it has none. */
  readonly accountId?: string;
  readonly dlqRetentionMs?: number;
  readonly priceUsdPer100kMessages?: number;
}

/** `L`: the parts of the ledger that a part of the engine uses. */
export interface EngineDeps<L = Ledger> {
  readonly policies: readonly Policy[];
  readonly settings: EngineSettings;
  readonly accounts: ReadonlyMap<string, AccountTerms>;
  readonly actions: Actions;
  readonly ledger: L;
  readonly board: ObservationBoard;
  readonly facts: EngineFacts;
  readonly clock: Clock;
  readonly events: EventBus;
  /** OPSD_MODE: it can only lower. */
  readonly ceiling?: PolicyMode;
  /** Why no policy acts at present, where the configuration says otherwise; asked before every request. */
  auditOnly?(): string | undefined;
  /** Pauses of before that could not be written down. */
  readonly unwrittenPauses?: ReadonlyMap<string, string>;
  /** Why everything is paused, or undefined. It is asked before every request; one that throws counts as a pause. */
  killSwitch(): string | undefined;
  /** Milliseconds within which a lost request has arrived or never will; default 5 min. */
  readonly settleMs?: number;
  /** Least time between two whole listings of an account that learn what became of acts, milliseconds; default 1 min. */
  readonly listEveryMs?: number;
  /** How long breakers stay open after each halt in a row, milliseconds; default 30 min, 2 h, 6 h. */
  readonly breakerMs?: readonly number[];
  readonly guards: readonly Guard[];
}
