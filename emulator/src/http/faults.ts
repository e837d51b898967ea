/**
 * Faults of the service, by rule. A rule says which requests it matches, how often, and the fault. If several rules
 * match a request, all apply, in the order of their creation. Without rules, no request is changed.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import type { Random } from '#foundation/platform/random.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import { changeAnswer, changeQuery, questionOf, type AnswerFacts } from './fault-effects.ts';
import type { RoutedCall } from './server.ts';
import { ApiError } from '../state/api-error.ts';
import { FaultRules, matchesPattern } from '../state/fault-rules.ts';
import type { Fault, FaultRule as NamedFaultRule } from '../types/public.ts';
import { responseOf, type ReceivedRequest, type ApiResponse, type Route } from './route.ts';

/** The control API does not check the names of operations. */
export interface OperationFaultRule extends Omit<NamedFaultRule, 'operations'> {
  readonly operations?: readonly string[] | undefined;
}

export interface FaultsOptions {
  /** Real time, because clients wait for a slow response in real time. */
  readonly clock: Clock;
  /** Returns the service's time. */
  readonly now: () => number;
  readonly random: Random;
}

export class Faults extends FaultRules<OperationFaultRule> {
  readonly #options: FaultsOptions;
  readonly #stopping = new AbortController();
  /** Entries to repeat, by rule. */
  readonly #again = new WeakMap<OperationFaultRule, AnswerFacts['again']>();

  constructor(options: FaultsOptions) {
    super('fault', options.random);
    this.#options = options;
  }

  /** Ends the waits: requests that a fault delays get their response. */
  stop(): void {
    this.#stopping.abort(new Error('the embedded service has stopped'));
  }

  /** Responds as the request's route does, and applies the matching rules. */
  async handle(faulted: RoutedCall): Promise<ApiResponse> {
    const path = faulted.target.split('?', 1)[0]!;
    const rules = this.take((rule) => means(rule, faulted.route, path));
    if (rules.length === 0) return faulted.route.handle(faulted.request);
    const faults = rules.map(({ fault }) => fault);
    let { request } = faulted;
    for (const fault of faults) {
      if (fault.kind === 'latency')
        await sleep(this.#options.clock, fault.ms, this.#stopping.signal).catch(() => undefined);
      const refusal = this.#refusal(fault);
      if (refusal !== undefined) return this.#sent(refusal, faults);
      if (fault.kind === 'ignored-filters') request = { ...request, query: changeQuery(request.query, fault.names) };
    }
    let response = await answerOf(faulted.route, request);
    const { now, random } = this.#options;
    const { query } = request;
    const question = questionOf(request.account.id, path, query);
    for (const rule of rules) {
      if (response.json === undefined || response.status !== 200) break;
      const facts = { now: now(), random, query, question, again: this.#repeatedBy(rule) };
      response = { ...response, json: changeAnswer(rule.fault, response.json, facts) };
    }
    return this.#sent(response, faults);
  }

  #repeatedBy(rule: OperationFaultRule): AnswerFacts['again'] {
    const again = this.#again.get(rule) ?? new Map<string, never>();
    this.#again.set(rule, again);
    return again;
  }

  /** Returns the response of a fault that rejects the request. */
  #refusal(fault: Fault): ApiResponse | undefined {
    if (fault.kind === 'status') {
      return {
        status: fault.status,
        json: { error: fault.error ?? `requested fault: ${fault.status}` },
        headers: { ...(fault.retryAfter !== undefined && { 'Retry-After': String(fault.retryAfter) }) },
      };
    }
    if (fault.kind !== 'rate-limit') return undefined;
    const prefix = fault.form === 'burst' ? 'Burst-RateLimit' : 'RateLimit';
    const resetMs = fault.resetMs ?? (fault.form === 'burst' ? 1_000 : 3_600_000);
    const headers = {
      [`${prefix}-Limit`]: String(fault.limit ?? 100),
      [`${prefix}-Remaining`]: '0',
      [`${prefix}-Reset`]: String(Math.ceil((this.#options.now() + resetMs) / 1_000)),
    };
    return { status: 429, json: { error: 'requested fault: too many requests' }, headers };
  }

  /** Applies the faults that change a response in transit. */
  #sent(response: ApiResponse, faults: readonly Fault[]): ApiResponse {
    let sent = response;
    for (const fault of faults) {
      if (fault.kind === 'lost') sent = { ...sent, sending: 'lost' };
      if (fault.kind === 'truncated') sent = { ...sent, sending: fault.how === 'connection' ? 'broken-off' : 'cut' };
      if (fault.kind === 'clock-skew') {
        sent = { ...sent, headers: { ...sent.headers, Date: new Date(this.#options.now() + fault.ms).toUTCString() } };
      }
    }
    return sent;
  }
}

function means(rule: OperationFaultRule, route: Route, path: string): boolean {
  // Operations of the control API stay reachable, so that a client can remove its faults.
  if (route.api === 'control') return false;
  if (rule.operations !== undefined && !rule.operations.includes(route.operation)) return false;
  if (rule.method !== undefined && rule.method !== route.method) return false;
  return rule.path === undefined || matchesPattern(rule.path, path);
}

/** An error response can be lost too, so errors become responses here. */
async function answerOf(route: Route, request: ReceivedRequest): Promise<ApiResponse> {
  try {
    return await route.handle(request);
  } catch (error) {
    if (error instanceof ApiError) return responseOf(error);
    throw error;
  }
}
