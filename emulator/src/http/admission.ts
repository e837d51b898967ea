/**
 * Admission of requests. Every request of an inactive account is rejected; messages that the account sent earlier are
 * still delivered. A request of the message API counts against the account's limit per second. The messages that a
 * request creates count against the account's limits per day. A rejected request has no effect.
 *
 * Each admitted request counts against the second, whatever its outcome. Messages of publishes, triggers and resumes
 * count against the day, one for each endpoint of a group. Reads and the service's own callbacks and retries do not
 * count.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import type { Account } from '../state/account.ts';
import type { BudgetGuard } from '../statistics/budget-guard.ts';
import type { LimitsOf } from '../state/limits.ts';
import { RequestMeter, type WindowFigures } from './request-meter.ts';
import { ApiError } from '../state/api-error.ts';
import type { Switches } from '../state/switches.ts';

type Headers = Readonly<Record<string, string>>;

export interface AdmissionOptions {
  readonly clock: Clock;
  readonly limitsOf: LimitsOf;
  readonly budget: BudgetGuard;
  readonly switches: Pick<Switches, 'rateLimitHeaders'>;
}

/** An admitted request. */
export interface Entry {
  /** Maximum size of the request body, in bytes. */
  readonly maxBodyBytes: number;
  /** Returns the rate-limit headers of the response, computed when it is sent. */
  readonly headers: () => Headers;
}

/** Message counts of the latest days, by account. Days are counted from the epoch. */
export type MessagesOfDays = Readonly<Record<string, readonly (readonly [day: number, messages: number])[]>>;

/** Number of days kept per account. A clock that is corrected backward may return to one of the earlier days. */
const LATEST_DAYS = 7;

const BURST = 'Burst-RateLimit';
const DAILY = 'RateLimit';

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #meters = new Map<string, RequestMeter>();
  #isSecondAwaited = false;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** @throws {ApiError} 403 when the account is not active, 429 when the limit per second is reached */
  enter(account: Account): Entry {
    const { state = 'active', modifyingState } = account;
    if (state !== 'active') throw new ApiError(403, `the account ${account.id} is ${state}: requests are rejected`);
    if (modifyingState === 'suspended') {
      throw new ApiError(403, `the account ${account.id} is being suspended: requests are rejected`);
    }
    const limits = this.#options.limitsOf(account);
    const meter = this.#meterOf(account.id);
    if (!meter.takeRequest(limits.requestsPerSecond)) {
      const second = meter.second(limits.requestsPerSecond);
      // Something is due at the end of the second, so that time can skip to it.
      if (!this.#isSecondAwaited) {
        this.#isSecondAwaited = true;
        this.#options.clock.after(second.resetMs, () => (this.#isSecondAwaited = false));
      }
      const what = `the account ${account.id} has used its ${second.limit} requests for this second`;
      throw new ApiError(429, what, { ...this.#told(account, 'second'), ...retryAfter(second.resetMs) });
    }
    return { maxBodyBytes: limits.messageBytes, headers: () => this.#told(account, 'second') };
  }

  /**
   * Counts messages against the day. Call it right before the messages are created: an accepted call has used its
   * share.
   *
   * @throws {ApiError} 429 when the budget is spent, or the day would exceed the hard limit of messages
   */
  accept(account: Account, messages: number): void {
    const spent = this.#options.budget.exhausted(account);
    if (spent !== undefined) throw new ApiError(429, spent.reason, retryAfter(spent.resetMs));
    const limits = this.#options.limitsOf(account);
    const meter = this.#meterOf(account.id);
    if (meter.takeMessages(messages, limits.messagesPerDayHard)) return;
    const { resetMs } = meter.day(limits.messagesPerDay);
    const what = `quota exhausted: the account ${account.id} may send ${limits.messagesPerDayHard} messages a day`;
    throw new ApiError(429, what, { ...this.#told(account, 'day'), ...retryAfter(resetMs) });
  }

  /**
   * Returns the input of `restore`, so that a later process continues the day. Seconds are not kept: a restart takes
   * longer.
   */
  messagesOfDays(): MessagesOfDays {
    return Object.fromEntries([...this.#meters].map(([id, meter]) => [id, meter.days.slice(-LATEST_DAYS)]));
  }

  /** Loads the counts of an earlier process. */
  restore(messages: MessagesOfDays): void {
    for (const [id, days] of Object.entries(messages)) this.#meterOf(id).restore(days);
  }

  /** @param matters the window to report where the installation reports only one */
  #told(account: Account, matters: 'second' | 'day'): Headers {
    const { limitsOf, switches } = this.#options;
    const limits = limitsOf(account);
    const meter = this.#meterOf(account.id);
    const second = meter.second(limits.requestsPerSecond);
    const day = meter.day(limits.messagesPerDay);
    const one = matters === 'second' ? second : day;
    switch (switches.rateLimitHeaders) {
      case 'both':
        return { ...this.#figures(BURST, second), ...this.#figures(DAILY, day) };
      case 'burst':
        return this.#figures(BURST, one);
      case 'daily':
        return this.#figures(DAILY, one);
      case 'none':
        return {};
    }
  }

  #figures(name: string, { limit, remaining, resetMs }: WindowFigures): Headers {
    if (limit === Infinity) return {};
    return {
      [`${name}-Limit`]: String(limit),
      [`${name}-Remaining`]: String(remaining),
      // Unix seconds, rounded up, so that the window has ended at that time.
      [`${name}-Reset`]: String(Math.ceil((this.#options.clock.now() + resetMs) / 1_000)),
    };
  }

  #meterOf(accountId: string): RequestMeter {
    return getOrAdd(this.#meters, accountId, () => new RequestMeter(this.#options.clock));
  }
}

function retryAfter(ms: number): Headers {
  return { 'Retry-After': String(Math.max(1, Math.ceil(ms / 1_000))) };
}
