/**
 * A model of one canary message, independent of the code that judges it: what the service, the way, and the receiver do,
 * and what the daemon can know of it at each moment. Times are milliseconds since the start of the round.
 */
import type { CanaryVerdict } from '#foundation/domain/canary.ts';
import type { LogEntry, MessageState } from '#foundation/domain/log-entry.ts';
import type { Arrival, Facts, LogReading, Publish, ReceiverProbe, Route } from '#observe/canary/facts.ts';
import { loggedMessage } from '#observe/canary/log-reading.ts';
import { judge } from '#observe/canary/verdict.ts';

/** What one delivery attempt meets. */
export type Outcome =
  | { readonly kind: 'delivered' }
  /** No request reaches the listener. */
  | { readonly kind: 'unreachable'; readonly error: string }
  /** The listener gets the request and responds, and the response does not reach the service: a proxy has it, or nobody. */
  | { readonly kind: 'response-lost'; readonly by: 'proxy' | 'nobody' }
  /** A response that the listener did not send. */
  | { readonly kind: 'proxy'; readonly status: number }
  /** A rejection by the listener. */
  | { readonly kind: 'rejected'; readonly status: number }
  /** No response until the limit of the attempt, and no arrival. */
  | { readonly kind: 'hangs' }
  /** The listener accepts the request, and its response is held until the limit of the attempt. */
  | { readonly kind: 'answers-late' }
  /** Nothing is sent, and this status is reported. */
  | { readonly kind: 'invented'; readonly status: number }
  /** The listener accepts the request, and this status is reported. */
  | { readonly kind: 'misreported'; readonly status: number };

export interface World {
  readonly route: Route;
  readonly timeoutMs: number;
  /** Absent: the publish cannot limit an attempt. The plan's limit is an hour. */
  readonly attemptMs?: number;
  readonly publish: Publish;
  /** Wait of the service before the first attempt; Infinity: it makes none. */
  readonly heldMs: number;
  /** Duration of an attempt that ends by itself. */
  readonly attemptTakesMs: number;
  /** What the only attempt meets. A canary asks for no retries. */
  readonly outcome: Outcome;
  /** Number of arrivals after the first one. */
  readonly extra: number;
  readonly altered: boolean;
  /** Age at which entries appear in the log. */
  readonly lagMs: number;
  readonly unlogged: readonly MessageState[];
  readonly logError?: LogReading & { readonly failed: unknown };
  /** Absent: the service sends no callback. */
  readonly callback?: { readonly afterMs: number; readonly outcome: 'delivered' | 'unreachable' | 'rejected' };
  readonly receiver: ReceiverProbe;
  readonly elsewhere: boolean;
  readonly flow: boolean | 'unknown';
  /** True if the log has the responses that the service got. */
  readonly logsResponses: boolean;
}

const PLAN_LIMIT_MS = 3_600_000;
const CONNECTION_LOST = 'read ECONNRESET';

interface Happened {
  readonly entries: readonly LogEntry[];
  readonly callbackEntries: readonly LogEntry[];
  readonly arrivals: readonly (Arrival & { readonly afterMs: number })[];
  readonly callback?: { readonly afterMs: number; readonly status: number };
  readonly rejections: readonly (Facts['rejections'][number] & { readonly afterMs: number })[];
}

/** Returns all that ever happens to the message. */
function happen(world: World): Happened {
  const entries: LogEntry[] = [];
  const arrivals: Arrival[] = [];
  const rejections: (Facts['rejections'][number] & { afterMs: number })[] = [];
  const log = (time: number, state: MessageState, more: Partial<LogEntry> = {}): void => {
    if (!world.unlogged.includes(state)) entries.push({ time, messageId: 'm', labels: [], state, ...more });
  };
  const accepted = 'failure' in world.publish && world.publish.isRejected ? Infinity : world.publish.afterMs;
  if (accepted < Infinity) log(accepted, 'CREATED');
  const at = accepted + world.heldMs;
  if (at === Infinity) return { entries, arrivals, rejections, callbackEntries: [] };
  const { outcome } = world;
  log(at, 'ACTIVE');
  const end =
    at +
    (outcome.kind === 'hangs' || outcome.kind === 'answers-late'
      ? (world.attemptMs ?? PLAN_LIMIT_MS)
      : world.attemptTakesMs);
  if (['delivered', 'response-lost', 'misreported', 'answers-late'].includes(outcome.kind)) {
    const isAnswered = outcome.kind !== 'response-lost' || outcome.by === 'proxy';
    for (let copy = 0; copy <= world.extra; copy++) {
      const own = { ...(isAnswered && { answerMs: 1 }), ...(isAnswered && copy > 0 && { isRepeated: true }) };
      arrivals.push({ afterMs: at + 2 * copy, altered: world.altered, ...own });
    }
  }
  if (outcome.kind === 'rejected') rejections.push({ status: outcome.status, reason: 'own', afterMs: at });
  const { status, error = `destination answered ${status}` } = toldOf(outcome);
  const isReal = ['delivered', 'proxy', 'rejected'].includes(outcome.kind);
  const response = {
    ...(status !== undefined && { responseStatus: status }),
    ...(world.logsResponses && isReal && ({ hasResponse: true } as const)),
  };
  if (status !== undefined && status < 300) log(end, 'DELIVERED', response);
  else for (const state of ['ERROR', 'FAILED'] as const) log(end, state, { ...response, error });
  const ended = { at: end, status: status ?? 0 };
  return { entries, arrivals, rejections, ...callbackOf(world, ended, rejections) };
}

function callbackOf(
  { callback, route, logsResponses }: World,
  ended: { readonly at: number; readonly status: number },
  rejections: (Facts['rejections'][number] & { afterMs: number })[],
): Pick<Happened, 'callback' | 'callbackEntries'> {
  if (callback === undefined || route === 'workflow') return { callbackEntries: [] };
  const at = ended.at + callback.afterMs;
  const of = (time: number, state: MessageState, more: Partial<LogEntry> = {}): LogEntry => ({
    time,
    messageId: 'c',
    labels: [],
    state,
    ...more,
  });
  const begun = [of(ended.at, 'CREATED'), of(at, 'ACTIVE')];
  if (callback.outcome === 'delivered') {
    const delivered = of(at + 1, 'DELIVERED', { responseStatus: 202 });
    return { callback: { afterMs: at, status: ended.status }, callbackEntries: [...begun, delivered] };
  }
  if (callback.outcome === 'unreachable') {
    return { callbackEntries: [...begun, of(at + 1, 'ERROR', { error: CONNECTION_LOST })] };
  }
  rejections.push({ status: 503, reason: 'own', afterMs: at });
  const response = logsResponses ? ({ hasResponse: true } as const) : {};
  return { callbackEntries: [...begun, of(at + 1, 'ERROR', { responseStatus: 503, ...response })] };
}

function toldOf(outcome: Outcome): { readonly status?: number; readonly error?: string } {
  switch (outcome.kind) {
    case 'delivered':
      return { status: 202 };
    case 'unreachable':
      return { error: outcome.error };
    case 'response-lost':
      return { error: CONNECTION_LOST };
    case 'hangs':
    case 'answers-late':
      return { error: 'timeout: no answer in time' };
    case 'proxy':
    case 'rejected':
    case 'invented':
    case 'misreported':
      return { status: outcome.status };
  }
}

/** Maximum number of steps of a judgment. */
const MOST_STEPS = 100;

/** Follows the message as the daemon does, and returns its verdict. */
export function verdictIn(world: World): { readonly verdict: CanaryVerdict; readonly reason: string } {
  const all = happen(world);
  const known: { -readonly [K in 'log' | 'callbackLog' | 'receiver' | 'elsewhere' | 'flow']?: Facts[K] } = {};
  let now = world.publish.afterMs;
  const reading = (entries: readonly LogEntry[]): LogReading => {
    if (world.logError !== undefined) return { ...world.logError, afterMs: now };
    return { afterMs: now, ...loggedMessage(entries.filter(({ time }) => time + world.lagMs <= now)) };
  };
  for (let steps = 0; steps < MOST_STEPS; steps++) {
    const facts: Facts = {
      route: world.route,
      size: 'small',
      timeoutMs: world.timeoutMs,
      ...(world.attemptMs !== undefined && { attemptMs: world.attemptMs }),
      publish: world.publish,
      arrivals: all.arrivals.filter(({ afterMs }) => afterMs <= now),
      ...(all.callback !== undefined && all.callback.afterMs <= now && { callback: all.callback }),
      rejections: all.rejections.filter(({ afterMs }) => afterMs <= now),
      isKnownService: true,
      logsResponses: world.logsResponses,
      ...known,
    };
    const step = judge(facts, now);
    if (step.kind === 'verdict') return step.result;
    if (step.kind === 'wait') {
      const next = [...all.arrivals, ...(all.callback === undefined ? [] : [all.callback])]
        .map(({ afterMs }) => afterMs)
        .filter((afterMs) => afterMs > now);
      now = Math.max(now + 1, Math.min(step.untilMs, ...next));
      continue;
    }
    // Each request takes a moment.
    now += 1;
    if (step.question === 'log') known.log = reading(all.entries);
    if (step.question === 'callbackLog') known.callbackLog = reading(all.callbackEntries);
    if (step.question === 'receiver') known.receiver = world.receiver;
    if (step.question === 'elsewhere') known.elsewhere = world.elsewhere;
    if (step.question === 'flow') known.flow = world.flow;
  }
  throw new Error(`no verdict after ${MOST_STEPS} steps, at ${now} ms`);
}
