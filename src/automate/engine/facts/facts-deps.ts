/** Sources of the engine's facts. */
import type { VerifiedClock } from '#foundation/events/verified-clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { CanaryState } from '#foundation/domain/canary.ts';
import type { BudgetAssertion } from '#foundation/domain/known-budget.ts';
import type { ObservationBoard } from '#observe/observations/board.ts';
import type { RecentAttempts } from '#observe/observations/recent-attempts.ts';
import type { ResumeEnds } from '#observe/observations/resume-ends.ts';
import type { Runs } from '../../ledger/runs.ts';
import type { Signals } from '../../ledger/signals.ts';
import type { Raises, Usage } from '../../ledger/usage.ts';

export interface FactsDeps {
  readonly board: ObservationBoard;
  readonly attempts: RecentAttempts;
  readonly resumeEnds: ResumeEnds;
  readonly ledger: Raises & Usage & Pick<Signals, 'alertsFiring'> & Pick<Runs, 'lastStops'>;
  /** States of all canaries. */
  canaries?(): readonly Pick<CanaryState, 'account' | 'canary' | 'verdict'>[];
  readonly events: EventBus;
  readonly clock: VerifiedClock;
  readonly accounts: readonly {
    readonly name: string;
    readonly limits: { readonly dlqMessages?: number };
    readonly budget?: BudgetAssertion;
  }[];
}
