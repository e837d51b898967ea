/**
 * Who may come in. An account that is not active is refused whatever it asks for (what it had sent before goes on). A
 * request of the message API enters through the limit of its account's second; messages that it
 * brings are accepted within the account's day. What is refused has done nothing.
 *
 * Counted against the second is every request that was let in, whatever became of it. Counted against the day are the
 * messages that publishes, triggers and resumes bring, one for each endpoint of a group: reading is free, and so are
 * the service's own callbacks and retries.
 */
import type { Clock } from '#foundation/platform/clock.ts';
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

/** A request that was let in. */
export interface Entry {
  /** Most bytes of its body. */
  readonly maxBodyBytes: number;
  /** What its answer tells of the limits, as they stand when it is sent. */
  readonly headers: () => Headers;
}

/** By account, the messages of its latest days, each day counted from the epoch. */
export type MessagesOfDays = Readonly<Record<string, readonly (readonly [day: number, messages: number])[]>>;

/** Told of each account: today's, and those that a clock which is set right may come back to. */
const LATEST_DAYS = 7;

const BURST = 'Burst-RateLimit';
const DAILY = 'RateLimit';

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #meters = new Map<string, RequestMeter>();

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** @throws {ApiError} 403 when the account is not active, 429 when its second is full */
  enter(account: Account): Entry {
    const { state = 'active', modifyingState } = account;
    if (state !== 'active') throw new ApiError(403, `the account ${account.id} is ${state}: it takes no requests`);
    if (modifyingState === 'suspended') {
      throw new ApiError(403, `the account ${account.id} is being suspended: it takes no requests`);
    }
    const limits = this.#options.limitsOf(account);
    const meter = this.#meterOf(account.id);
    if (!meter.takeRequest(limits.requestsPerSecond)) {
      const second = meter.second(limits.requestsPerSecond);
      const what = `the account ${account.id} has had its ${second.limit} requests of this second`;
      throw new ApiError(429, what, { ...this.#told(account, 'second'), ...retryAfter(second.resetMs) });
    }
    return { maxBodyBytes: limits.messageBytes, headers: () => this.#told(account, 'second') };
  }

  /**
   * Call it right before the messages are made: whoever was not refused has used its share.
   *
   * @throws {ApiError} 429 when the budget is spent, or the day would have more messages than the hard limit
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

  /** What `restore` takes, so that a day goes on in a later process. A second does not last until there is one. */
  messagesOfDays(): MessagesOfDays {
    return Object.fromEntries([...this.#meters].map(([id, meter]) => [id, meter.days.slice(-LATEST_DAYS)]));
  }

  /** Of an earlier process. */
  restore(messages: MessagesOfDays): void {
    for (const [id, days] of Object.entries(messages)) this.#meterOf(id).restore(days);
  }

  /** @param matters the window that an installation tells of that has headers for one */
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
      // Unix seconds, rounded up: at that moment the window has ended.
      [`${name}-Reset`]: String(Math.ceil((this.#options.clock.now() + resetMs) / 1_000)),
    };
  }

  #meterOf(accountId: string): RequestMeter {
    let meter = this.#meters.get(accountId);
    if (meter === undefined) {
      meter = new RequestMeter(this.#options.clock);
      this.#meters.set(accountId, meter);
    }
    return meter;
  }
}

function retryAfter(ms: number): Headers {
  return { 'Retry-After': String(Math.max(1, Math.ceil(ms / 1_000))) };
}
