/** Limits of an account from the configuration, since no operation of the service reads them. */
import type { Families } from './families.ts';

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

/** Exports the known limits; unknown ones are absent. */
export function sayLimits(families: Families, account: string, limits: KnownLimits = {}): void {
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
