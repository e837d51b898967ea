/** Budget and limits of an account that the configuration says, since no operation of the service reads them. */
import type { Families } from './families.ts';

export interface KnownBudget {
  /** 0 when there is no limit. */
  readonly knownUsd: number;
  /** Day on which it was known to be so. */
  /** Epoch milliseconds. */
  readonly assertedOn?: number;
}

export interface KnownLimits {
  readonly dlqMessages?: number;
  /** Milliseconds. */
  readonly dlqRetention?: number;
  readonly requestsPerDay?: number;
  readonly requestsPerDayHard?: number;
  readonly requestsPerSecond?: number;
  readonly parallelism?: number;
  readonly globalParallelism?: number;
}

/** Only what is known is exported. */
export function sayKnown(
  families: Families,
  account: string,
  known: { readonly budget?: KnownBudget | undefined; readonly limits?: KnownLimits | undefined },
): void {
  const { budget, limits = {} } = known;
  if (budget !== undefined) {
    const labels = { account, origin: 'configuration' };
    families.set('msgsvc_account_budget_dollars', labels, budget.knownUsd === 0 ? Infinity : budget.knownUsd);
    if (budget.assertedOn !== undefined) {
      families.set('msgsvc_account_budget_asserted_timestamp_seconds', labels, budget.assertedOn / 1_000);
    }
  }
  const say = (value: number | undefined, set: (value: number) => void): void => {
    if (value !== undefined) set(value);
  };
  say(limits.dlqMessages, (value) => families.set('msgsvc_account_limit_dlq_messages', { account }, value));
  say(limits.dlqRetention, (value) =>
    families.set('msgsvc_account_limit_dlq_retention_seconds', { account }, value / 1_000),
  );
  say(limits.requestsPerDay, (value) =>
    families.set('msgsvc_account_limit_day_requests', { account, kind: 'soft' }, value),
  );
  say(limits.requestsPerDayHard, (value) =>
    families.set('msgsvc_account_limit_day_requests', { account, kind: 'hard' }, value),
  );
  say(limits.requestsPerSecond, (value) =>
    families.set('msgsvc_account_limit_requests_per_second', { account }, value),
  );
  say(limits.parallelism, (value) =>
    families.set('msgsvc_account_limit_parallelism', { account, scope: 'endpoint' }, value),
  );
  say(limits.globalParallelism, (value) =>
    families.set('msgsvc_account_limit_parallelism', { account, scope: 'global' }, value),
  );
}
