/**
 * Cost of messages, and billing rules of plans. Every delivery attempt is one billed message. Amounts are integer
 * micro-dollars (millionths of a dollar), so that days add up to their month exactly.
 *
 * The paid plan bills each message. All other plans include their messages in the price: nothing for the free plan, a
 * reserved price for the rest. The reserved price is due on the day the plan was taken and on the first of each later
 * month. For the first plan, that day is the start of the service or the account.
 */
import { RESERVED_PRICES_USD } from '../state/limits.ts';
import type { AccountBook } from '../state/account-book.ts';
import type { PlanName } from '../state/account.ts';
import { dayOf, daysOfMonth, DAY_MS } from './point-time.ts';

/** One dollar for 100,000 messages, those of workflows included. */
export const MICRO_USD_PER_MESSAGE = 10;

export function microUsdToUsd(microUsd: number): number {
  return microUsd / 1_000_000;
}

interface Taken {
  readonly plan: PlanName;
  /** Days since the epoch. */
  readonly day: number;
}

export interface PlanBilling {
  paysByMessage(accountId: string): boolean;
  /** Returns the micro-dollars due on a day, counted from the epoch, independent of messages. */
  reservedMicroUsd(accountId: string, day: number): number;
}

export function createPlanBilling(accounts: AccountBook, startedAt: number): PlanBilling {
  function takenBy(accountId: string): readonly Taken[] {
    const account = accounts.byId(accountId);
    if (account === undefined) return [];
    const later = (account.planChanges ?? []).map(({ plan, at }) => ({ plan, day: dayOf(at) }));
    return [{ plan: account.firstPlan, day: dayOf(account.createdAt ?? startedAt) }, ...later];
  }

  return {
    paysByMessage: (accountId) => (accounts.byId(accountId)?.plan ?? 'paid') === 'paid',
    reservedMicroUsd(accountId, day) {
      const taken = takenBy(accountId);
      const onTheDay = taken.filter((change) => change.day === day);
      const before = taken.findLast((change) => change.day < day);
      const isFirstOfMonth = daysOfMonth(day * DAY_MS)[0] === day;
      const due = before !== undefined && isFirstOfMonth ? [before, ...onTheDay] : onTheDay;
      return due.reduce((sum, { plan }) => sum + RESERVED_PRICES_USD[plan], 0) * 1_000_000;
    },
  };
}
