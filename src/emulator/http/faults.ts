/**
 * Faults of the service, by rule. A rule says which requests it matches, how often, and the fault. If several rules
 * match a request, all apply, in the order of their creation. Without rules, no request is changed.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import type { Random } from '#foundation/platform/random.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import { changeAnswer, changeQuery, questionOf, type AnswerFacts, type AnswerFault } from './fault-effects.ts';
import type { RoutedCall } from './server.ts';
import { ApiError } from '../state/api-error.ts';
import { responseOf, type ApiRequest, type ApiResponse, type Route } from './route.ts';

export type Fault =
  /** The request waits this long, in real time, before it is processed. */
  | { readonly kind: 'latency'; readonly ms: number }
  /** The response has this status, and the request has no effect. */
  | { readonly kind: 'status'; readonly status: number; readonly error?: string; readonly retryAfter?: number }
  /** The response is 429 with `Burst-RateLimit-*` or `RateLimit-*` headers, and the request has no effect. */
  | {
      readonly kind: 'rate-limit';
      readonly form: 'burst' | 'daily';
      readonly limit?: number;
      readonly resetMs?: number;
    }
  /** The request is processed, and the connection ends without a response. */
  | { readonly kind: 'lost' }
  /**
   * The request is processed, and the JSON of the response is cut in half. `connection` also breaks the connection
   * before the announced length.
   */
  | { readonly kind: 'truncated'; readonly how?: 'json' | 'connection' }
  /** The filters of these names, or all filters, are ignored. */
  | { readonly kind: 'ignored-filters'; readonly names?: readonly string[] }
  | AnswerFault
  /** The `Date` of the response is later by this much, or earlier. */
  | { readonly kind: 'clock-skew'; readonly ms: number };

export interface FaultRule {
  /** Names of operations, as in `GET /-/emulator/requests`; all when absent. */
  readonly operations?: readonly string[];
  readonly method?: string;
  /** Path of the request. A trailing `*` matches any path with this prefix. */
  readonly path?: string;
  /** Number of matching requests that pass first. Default 0. */
  readonly skip?: number;
  /** Number of matching requests that the rule then applies to. Default: until the rule is removed. */
  readonly times?: number;
  /** Probability for each such request, from 0 to 1. Default 1. */
  readonly probability?: number;
  readonly fault: Fault;
}

export interface FaultView extends FaultRule {
  readonly id: string;
  /** Number of requests that the rule was applied to. */
  readonly hits: number;
}

interface Active {
  readonly id: string;
  readonly rule: FaultRule;
  met: number;
  hits: number;
  readonly again: AnswerFacts['again'];
}

export interface FaultsOptions {
  /** Real time, because clients wait for a slow response in real time. */
  readonly clock: Clock;
  /** Returns the service's time. */
  readonly now: () => number;
  readonly random: Random;
}

export class Faults {
  readonly #options: FaultsOptions;
  #active: Active[] = [];
  #made = 0;
  readonly #stopping = new AbortController();

  constructor(options: FaultsOptions) {
    this.#options = options;
  }

  add(rule: FaultRule): FaultView {
    const active = { id: `fault-${++this.#made}`, rule, met: 0, hits: 0, again: new Map() };
    this.#active.push(active);
    return viewOf(active);
  }

  list(): readonly FaultView[] {
    return this.#active.map(viewOf);
  }

  /** Returns false when no such rule exists. */
  remove(id: string): boolean {
    const before = this.#active.length;
    this.#active = this.#active.filter((active) => active.id !== id);
    return this.#active.length < before;
  }

  clear(): void {
    this.#active = [];
  }

  /** Ends the waits: requests that a fault delays get their response. */
  stop(): void {
    this.#stopping.abort(new Error('the embedded service has stopped'));
  }

  /** Responds as the request's route does, and applies the matching rules. */
  async handle(faulted: RoutedCall): Promise<ApiResponse> {
    const path = faulted.target.split('?', 1)[0]!;
    const rules = this.#active.length === 0 ? [] : this.#rulesFor(faulted.route, path);
    if (rules.length === 0) return faulted.route.handle(faulted.request);
    const faults = rules.map(({ rule }) => rule.fault);
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
    for (const { rule, again } of rules) {
      if (response.json === undefined || response.status !== 200) break;
      const facts = { now: now(), random, query, question, again };
      response = { ...response, json: changeAnswer(rule.fault, response.json, facts) };
    }
    return this.#sent(response, faults);
  }

  #rulesFor(route: Route, path: string): readonly Active[] {
    return this.#active.filter((active) => {
      const { rule } = active;
      if (!means(rule, route, path)) return false;
      const turn = active.met++ - (rule.skip ?? 0);
      if (turn < 0 || active.hits >= (rule.times ?? Infinity)) return false;
      if (this.#options.random() >= (rule.probability ?? 1)) return false;
      active.hits++;
      return true;
    });
  }

  /** Returns the response of a fault that rejects the request. */
  #refusal(fault: Fault): ApiResponse | undefined {
    if (fault.kind === 'status') {
      const headers = fault.retryAfter === undefined ? {} : { 'Retry-After': String(fault.retryAfter) };
      return {
        status: fault.status,
        json: { error: fault.error ?? `requested fault: ${fault.status}` },
        headers,
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

function means(rule: FaultRule, route: Route, path: string): boolean {
  // Operations of the control API stay reachable, so that a client can remove its faults.
  if (route.api === 'control') return false;
  if (rule.operations !== undefined && !rule.operations.includes(route.operation)) return false;
  if (rule.method !== undefined && rule.method !== route.method) return false;
  if (rule.path === undefined) return true;
  return rule.path.endsWith('*') ? path.startsWith(rule.path.slice(0, -1)) : path === rule.path;
}

/** An error response can be lost too, so errors become responses here. */
async function answerOf(route: Route, request: ApiRequest): Promise<ApiResponse> {
  try {
    return await route.handle(request);
  } catch (error) {
    if (error instanceof ApiError) return responseOf(error);
    throw error;
  }
}

function viewOf({ id, rule, hits }: Active): FaultView {
  return { id, ...rule, hits };
}
