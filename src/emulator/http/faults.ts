/**
 * Faults of the service itself, by rule: which requests a rule means, how often, and what goes wrong with them. All
 * rules that a request meets hold for it, in the order in which they were made. Without rules nothing is touched.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import type { Random } from '#foundation/platform/random.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import { changeAnswer, changeQuery, questionOf, type AnswerFacts, type AnswerFault } from './fault-effects.ts';
import type { RoutedCall } from './server.ts';
import { ApiError } from '../state/api-error.ts';
import { responseOf, type ApiRequest, type ApiResponse, type Route } from './route.ts';

export type Fault =
  /** The request waits that long, in real time, before anything is done with it. */
  | { readonly kind: 'latency'; readonly ms: number }
  /** An answer with this status and nothing done. */
  | { readonly kind: 'status'; readonly status: number; readonly error?: string; readonly retryAfter?: number }
  /** 429 and nothing done, with `Burst-RateLimit-*` or `RateLimit-*` headers. */
  | {
      readonly kind: 'rate-limit';
      readonly form: 'burst' | 'daily';
      readonly limit?: number;
      readonly resetMs?: number;
    }
  /** All is done, and the connection ends without an answer. */
  | { readonly kind: 'lost' }
  /** All is done, and the JSON of the answer ends in its middle; `connection` breaks off while more is announced. */
  | { readonly kind: 'truncated'; readonly how?: 'json' | 'connection' }
  /** The filters (these, or all) are not looked at. */
  | { readonly kind: 'ignored-filters'; readonly names?: readonly string[] }
  | AnswerFault
  /** The `Date` of the answer is that much later (or earlier). */
  | { readonly kind: 'clock-skew'; readonly ms: number };

export interface FaultRule {
  /** Operations by name, as `GET /-/emulator/requests` tells them; all when absent. */
  readonly operations?: readonly string[];
  readonly method?: string;
  /** The request's path; one that ends in `*` is the beginning of it. */
  readonly path?: string;
  /** Requests that it lets pass first. Default 0. */
  readonly skip?: number;
  /** Requests that it then holds for. Default: until it is taken away. */
  readonly times?: number;
  /** Of each such request, from 0 to 1. Default 1. */
  readonly probability?: number;
  readonly fault: Fault;
}

export interface FaultView extends FaultRule {
  readonly id: string;
  /** Requests that it held for. */
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
  /** Of real time: who waits for a slow answer waits in it. */
  readonly clock: Clock;
  /** What the service's time is. */
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

  /** False when there is no such rule. */
  remove(id: string): boolean {
    const before = this.#active.length;
    this.#active = this.#active.filter((active) => active.id !== id);
    return this.#active.length < before;
  }

  clear(): void {
    this.#active = [];
  }

  /** Requests that a fault holds are answered. */
  stop(): void {
    this.#stopping.abort(new Error('the embedded service has stopped'));
  }

  /** Answers the request as its route does, with what the rules make of it. */
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

  /** The answer of a fault that keeps anything from being done. */
  #refusal(fault: Fault): ApiResponse | undefined {
    if (fault.kind === 'status') {
      const headers = fault.retryAfter === undefined ? {} : { 'Retry-After': String(fault.retryAfter) };
      return {
        status: fault.status,
        json: { error: fault.error ?? `a fault was asked for: ${fault.status}` },
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
    return { status: 429, json: { error: 'a fault was asked for: too many requests' }, headers };
  }

  /** With what happens to any answer on its way. */
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
  // Whoever made a fault must be able to end it.
  if (route.api === 'control') return false;
  if (rule.operations !== undefined && !rule.operations.includes(route.operation)) return false;
  if (rule.method !== undefined && rule.method !== route.method) return false;
  if (rule.path === undefined) return true;
  return rule.path.endsWith('*') ? path.startsWith(rule.path.slice(0, -1)) : path === rule.path;
}

/** A refusal is an answer too, and may be lost like any other. */
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
