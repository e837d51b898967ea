/** Facts about accounts, from the collectors' results and the ledger. Stale or missing data is unknown. */
import type { VerifiedClock } from '#foundation/events/verified-clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { CanaryState } from '#foundation/domain/canary.ts';
import { matchesGlob } from '#foundation/domain/glob.ts';
import {
  budgetDoubt,
  newestBudget,
  type BudgetAssertion,
  type BudgetFacts,
  type BudgetRaise,
  type KnownBudget,
} from '#foundation/domain/known-budget.ts';
import { monthOf } from '#foundation/domain/utc-month.ts';
import type { ObservationBoard } from '#observe/observations/board.ts';
import type { RecentAttempts } from '#observe/observations/recent-attempts.ts';
import type { ResumeEnds } from '#observe/observations/resume-ends.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { PreconditionFacts } from '../../policies/facts.ts';
import type { BudgetState, EngineFacts } from './engine-deps.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Sources of the facts. */
export interface FactsDeps {
  readonly board: ObservationBoard;
  readonly attempts: RecentAttempts;
  readonly resumeEnds: ResumeEnds;
  readonly ledger: Pick<Ledger, 'budgetChanges' | 'accountSince' | 'resumedTries' | 'alertsFiring' | 'lastStops'>;
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

export function createFacts(deps: FactsDeps): EngineFacts & Disposable {
  const { board, attempts, ledger, clock } = deps;
  const accounts = new Map(deps.accounts.map((account) => [account.name, account]));
  /** Times on the monotonic clock: a jump of the local clock ends no hold. */
  const refusedAt = new Map<string, number>();
  // Only requests that were sent emit this event, so delayed and unsent requests do not count.
  const subscription = deps.events.subscribe((event) => {
    if (event.type !== 'api.request') return;
    if (event.code === 429 || event.failure === 'rate_limited') refusedAt.set(event.account, clock.monotonic());
  });

  return {
    deliveries(account, host, windowMs) {
      const whole = attempts.of(account, host, windowMs);
      if (whole !== undefined) return { ...whole, newer: attempts.of(account, host, windowMs / 2) };
      const seen = attempts.seen(account, host, windowMs);
      return seen && { ...seen, isPartial: true };
    },
    refusedAt(account) {
      const at = refusedAt.get(account);
      return at === undefined ? undefined : clock.now() - (clock.monotonic() - at);
    },
    clockSkewMs: (account) => clock.skewMs(account),
    steadySince: () => clock.steadySince,
    preconditions: async (account) => preconditionFacts(account, accounts.get(account)?.limits.dlqMessages, deps),
    async budget(account) {
      const changes = await ledger.budgetChanges(account, 0);
      const since = await ledger.accountSince(account);
      const state = budgetState(accounts.get(account)?.budget, changes, { since, now: clock.now() });
      return { ...state, spend: await spendFacts(account, state.known, deps) };
    },
    resumeEnded: (account, message, end) => deps.resumeEnds.has(account, { ...message, end }),
    dlqMessages: (account) => board.fresh(account, 'accountStats')?.rows[0]?.dlqMessages,
    [Symbol.dispose]: () => subscription[Symbol.dispose](),
  };
}

/** @param of.since epoch milliseconds since which `changes` are complete; undefined if unknown */
export function budgetState(
  asserted: BudgetAssertion | undefined,
  changes: readonly BudgetRaise[],
  of: { readonly since: number | undefined; readonly now: number },
): BudgetState {
  const found = newestBudget(asserted, changes);
  // Without a limit there is nothing to raise. A budget of unknown age may be outdated.
  if (found?.assertedAt === undefined || !Number.isFinite(found.knownUsd)) return { changes, asserted };
  const known = { ...found, assertedAt: found.assertedAt };
  return { changes, asserted, known, doubt: budgetDoubt(asserted, changes, { ...of, known }) };
}

/** Returns the spend of an account: the last reading of the statistics, if it is fresh. */
async function spendFacts(
  account: string,
  known: KnownBudget | undefined,
  { board, ledger, clock }: FactsDeps,
): Promise<BudgetFacts> {
  const batch = board.fresh(account, 'accountStats');
  const spend = batch?.rows[0]?.spend;
  const now = clock.now();
  const ageMs = board.ageMs(account, 'accountStats');
  if (batch === undefined || ageMs === undefined || spend?.monthUsd === undefined) return { fresh: false };
  // Computed from the age, not from the recorded time: the clock may have been set since.
  const at = Math.round(now - ageMs);
  // A reading from before a new month says nothing about that month.
  if (monthOf(at) !== monthOf(now) || monthOf(batch.at) !== monthOf(now)) return { fresh: false };
  const { monthUsd, last24hUsd, dayBeforeUsd, medianDayUsd, paceUsd, forecastUsd, requestsLastDay } = spend;
  // A forecast hides one bad day, so the policy uses the faster of the two rates.
  const fastest = Math.max(paceUsd ?? -Infinity, last24hUsd ?? -Infinity);
  const hoursLeft =
    known === undefined || fastest === -Infinity
      ? undefined
      : hoursUntil({ spentUsd: monthUsd, budgetUsd: known.knownUsd, paceUsd: fastest, readMsAgo: ageMs });
  return {
    fresh: true,
    at,
    monthUsd,
    last24hUsd,
    dayBeforeUsd,
    medianDayUsd,
    forecastMonthUsd: forecastUsd,
    hoursLeft,
    messagesLastDay: requestsLastDay,
    ownMessagesLastDay: await ledger.resumedTries(account, now - DAY_MS),
  };
}

/**
 * Hours until the budget is used up, at the faster of the usual rate and that of the last day. Infinity if nothing is
 * spent. A new month may start earlier.
 */
function hoursUntil(at: {
  readonly spentUsd: number;
  readonly budgetUsd: number;
  readonly paceUsd: number;
  readonly readMsAgo: number;
}): number {
  const left = at.budgetUsd - at.spentUsd;
  if (left <= 0) return 0;
  return Math.max(0, (left / at.paceUsd) * 24 - at.readMsAgo / HOUR_MS);
}

/**
 * Returns the facts that preconditions can call; undefined means unknown.
 *
 * @param dlqLimit capacity of the DLQ in messages, if configured
 */
async function preconditionFacts(
  account: string,
  dlqLimit: number | undefined,
  deps: FactsDeps,
): Promise<PreconditionFacts> {
  const { board, attempts, ledger, clock } = deps;
  const alertFiring = await ledger.alertsFiring(account, clock.now());
  const trips = await ledger.lastStops('tripwire', 0);
  const flow = (key: string) =>
    board.fresh(account, 'flowControl')?.rows.find(({ flowControlKey }) => flowControlKey === key);
  const dlqMessages = (): number | undefined => board.fresh(account, 'accountStats')?.rows[0]?.dlqMessages;
  return {
    successRatio: (host, windowMs) => ratioOf(attempts.of(account, host, windowMs)),
    sampleSize: (host, windowMs) => attempts.of(account, host, windowMs)?.all,
    arrivals(label, windowMs) {
      const since = clock.now() - windowMs;
      const rows = board.fresh(account, 'workflowDlq')?.rows;
      // Runs that the daemon has resumed since then count as failed, too.
      const arrived = rows && [...rows, ...board.departed(account)];
      return arrived?.filter(({ createdAt, labels }) => createdAt >= since && labels.includes(label)).length;
    },
    alertFiring,
    flowWaiting: (key) => flow(key)?.waitListSize,
    flowPaused: (key) => flow(key)?.isPaused,
    canary: (name) => deps.canaries?.().find((canary) => canary.account === account && canary.canary === name)?.verdict,
    dlqMessages,
    dlqFillRatio() {
      const messages = dlqMessages();
      return messages === undefined || dlqLimit === undefined ? undefined : messages / dlqLimit;
    },
    policyTripped: tripsIn(trips, clock),
  };
}

/** Share of delivered messages; without messages there is none. */
export function ratioOf(counts: { readonly delivered: number; readonly all: number } | undefined): number | undefined {
  return counts === undefined || counts.all === 0 ? undefined : counts.delivered / counts.all;
}

/** @param trips times of the last stops by the tripwire, by policy */
export function tripsIn(
  trips: ReadonlyMap<string, number>,
  clock: Pick<FactsDeps['clock'], 'now'>,
): PreconditionFacts['policyTripped'] {
  return (glob, windowMs) => {
    const since = clock.now() - windowMs;
    return [...trips].some(([policy, at]) => at > since && matchesGlob(glob, policy));
  };
}
