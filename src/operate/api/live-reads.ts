/**
 * Reads of the service for someone who waits for the response. They share the account's request budget with the
 * collectors and the policies, so they are bounded: in requests per read, in simultaneous reads, and in their share of
 * the daily budget.
 */
import { isInvalidRequest, serviceErrorCode, type ServiceErrorCode } from '#foundation/domain/service-error.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { MessageApi } from '#service/api.ts';
import { isOperatorShareUsed } from '#service/daily-budget.ts';
import { HttpError } from '../http/reply.ts';

/** Operations that a live read can use. */
export type LogApi = Pick<MessageApi, 'listLogs' | 'listWorkflowDlq'>;

export interface LiveReadDeps {
  readonly clock: Clock;
  /** Message API of an account; undefined if it has none. */
  readonly messageApi: (account: string) => LogApi | undefined;
  /** Use of the message API's budget; undefined if the account has none. */
  readonly usage: (account: string) => { readonly usedToday: number; readonly allowedPerDay: number } | undefined;
}

const MOST_AT_ONCE = 2;
const DAY_MS = 86_400_000;
const BUSY_SECONDS = 2;

/** A read has sent the requests that it is allowed; what it has read so far is incomplete. */
export class ReadLimitError extends Error {
  override readonly name = 'ReadLimitError';
}

export class LiveReads {
  readonly #deps: LiveReadDeps;
  readonly #underWay = new Map<string, number>();

  constructor(deps: LiveReadDeps) {
    this.#deps = deps;
  }

  /** Returns reads that have another message API for accounts that these cannot read. */
  orElse(other: LiveReadDeps['messageApi']): LiveReads {
    const own = this.#deps;
    return new LiveReads({ ...own, messageApi: (account) => own.messageApi(account) ?? other(account) });
  }

  /** Accounts that can be read. */
  canRead(account: string): boolean {
    return this.#deps.messageApi(account) !== undefined;
  }

  /**
   * @param most maximum number of requests; a further one throws a `ReadLimitError`
   * @throws {HttpError} 429 if the budget does not allow it, 503 if the service or the daemon cannot do it now, 502 if
   *   the service rejects the request or its response is invalid
   */
  async read<T>(account: string, most: number, work: (api: LogApi) => Promise<T>): Promise<T> {
    const api = this.#deps.messageApi(account);
    if (api === undefined) {
      throw new HttpError(404, 'not_found', `Account ${account} has no message API configured, so it has no log.`);
    }
    const busy = this.#underWay.get(account) ?? 0;
    if (busy >= MOST_AT_ONCE) {
      const message = `The daemon already reads the log of ${account} for others. Retry in ${BUSY_SECONDS} seconds.`;
      throw new HttpError(503, 'busy', message, retryAfter(BUSY_SECONDS * 1_000));
    }
    this.#underWay.set(account, busy + 1);
    try {
      return await work(this.#bounded(account, api, most));
    } catch (error) {
      throw this.#explained(account, error);
    } finally {
      this.#underWay.set(account, this.#underWay.get(account)! - 1);
    }
  }

  #bounded(account: string, api: LogApi, most: number): LogApi {
    let sent = 0;
    const charge = (): void => {
      this.#checkBudget(account);
      if (sent >= most) throw new ReadLimitError(`it needs more than ${most} requests`);
      sent += 1;
    };
    return {
      listLogs: async (query, call) => (charge(), api.listLogs(query, call)),
      listWorkflowDlq: async (query, call) => (charge(), api.listWorkflowDlq(query, call)),
    };
  }

  #checkBudget(account: string): void {
    const use = this.#deps.usage(account);
    if (use === undefined || !isOperatorShareUsed(use)) return;
    const { usedToday, allowedPerDay } = use;
    const kept = `${usedToday} of ${allowedPerDay} requests of this UTC day are used, and the rest is for collectors and policies`;
    throw this.#budgetError(account, kept);
  }

  #budgetError(account: string, why: string): HttpError {
    const now = this.#deps.clock.now();
    const waitMs = DAY_MS - (now % DAY_MS);
    const until = new Date(now + waitMs).toISOString();
    const message = `The request budget of account ${account} does not allow it: ${why}. Retry at ${until}, or raise client.requestsPerDay.`;
    return new HttpError(429, 'budget', message, retryAfter(waitMs));
  }

  #explained(account: string, error: unknown): unknown {
    if (error instanceof HttpError) return error;
    if (error instanceof ReadLimitError) {
      return new HttpError(
        502,
        'service_error',
        `The log of account ${account} was not read completely: ${error.message}.`,
      );
    }
    if (isInvalidRequest(error)) return new HttpError(400, 'bad_request', `${errorMessage(error)}.`);
    const code = serviceErrorCode(error);
    if (code === undefined) return error;
    if (code === 'aborted') {
      const message = `The daemon changed its connection to account ${account}. Try again. (${errorMessage(error)})`;
      return new HttpError(503, 'busy', message, retryAfter(BUSY_SECONDS * 1_000));
    }
    if (code === 'budget') return this.#budgetError(account, errorMessage(error));
    const message = `The service did not answer for account ${account}: ${errorMessage(error)}`;
    const { retryAfterMs } = error as { readonly retryAfterMs?: number };
    return WRONG.includes(code)
      ? new HttpError(502, 'service_error', message)
      : new HttpError(503, 'service_unavailable', message, retryAfterMs === undefined ? {} : retryAfter(retryAfterMs));
  }
}

/** Errors that a later retry does not solve. */
const WRONG: readonly ServiceErrorCode[] = [
  'not_found',
  'client_error',
  'too_large',
  'malformed',
  'redirect',
  'cursor_loop',
];

function retryAfter(ms: number): Readonly<Record<string, string>> {
  return { 'Retry-After': String(Math.max(1, Math.ceil(ms / 1_000))) };
}
