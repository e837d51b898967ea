/**
 * Verdict of a canary from the facts about one message, pure. It blames only what the facts prove. If a request can
 * show more, it asks for that request; if nothing can, the verdict is `unknown`.
 */
import type { CanaryVerdict, CanaryVerdictReason } from '#foundation/domain/canary.ts';
import type { CanaryFacts, LogReading, RequestFailure } from './facts.ts';

/** Request that shows more: the log, the receiver's address, another host, the flow-control key, or the callback's log. */
export type Question = 'log' | 'receiver' | 'elsewhere' | 'flow' | 'callbackLog';

export type CanaryStep =
  | { readonly kind: 'verdict'; readonly result: CanaryVerdictReason }
  | { readonly kind: 'ask'; readonly question: Question }
  /** Nothing to do until then, unless something arrives. */
  | { readonly kind: 'wait'; readonly untilMs: number };

/** Reading of a log that could be read. */
type Logged = Exclude<LogReading, { readonly failed: RequestFailure }>;

/** The log may be late. It has this many times the timeout before its silence counts. */
const PATIENCE = 2;

/** @param nowMs time since the start of the round */
export function judgeCanary(facts: CanaryFacts, nowMs: number): CanaryStep {
  const step = judgeWatched(facts, nowMs);
  if (facts.isInterrupted !== true || step.kind !== 'verdict' || step.result.verdict === 'ok') return step;
  return verdict('unknown', 'the daemon did not run all the time while the message was in flight');
}

function judgeWatched(facts: CanaryFacts, nowMs: number): CanaryStep {
  if (facts.arrivals.length > 0) return judgeArrived(facts, nowMs);
  const { publish } = facts;
  if (publish !== undefined && 'failure' in publish && publish.failure.code !== 'aborted') {
    return judgePublish(facts, publish.failure);
  }
  return judgeMissing(facts, nowMs);
}

function verdict(of: CanaryVerdict, reason: string): CanaryStep {
  return { kind: 'verdict', result: { verdict: of, reason } };
}

const ask = (question: Question): CanaryStep => ({ kind: 'ask', question });

const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`;

/** Returns true for errors that the account's owner must repair: credential, permission, rate, or budget. */
function isOfAccount({ code, status }: RequestFailure): boolean {
  return ['unauthorized', 'forbidden', 'rate_limited', 'budget'].includes(code) || status === 402 || status === 413;
}

/** Errors of the service itself, if its address is right and the network of the daemon works. */
const OF_SERVICE: ReadonlySet<string> = new Set(['server_error', 'timeout', 'connection', 'dns', 'tls', 'too_large']);

/** The publish request failed. */
function judgePublish(facts: CanaryFacts, failure: RequestFailure): CanaryStep {
  const what = `the publish request failed: ${textOf(failure)}`;
  if (isOfAccount(failure)) return verdict('account', what);
  if (!OF_SERVICE.has(failure.code)) return verdict('unknown', what);
  if (!facts.isKnownService) {
    return verdict('unknown', `${what}; the service has not answered this account since the daemon started`);
  }
  if (facts.elsewhere === undefined) return ask('elsewhere');
  if (facts.elsewhere) return verdict('service', `${what}, while other hosts answer`);
  return verdict('unknown', `${what}, and no other host answers, so the network of the daemon may be down`);
}

/** The message did not arrive yet. */
function judgeMissing(facts: CanaryFacts, nowMs: number): CanaryStep {
  const { log, timeoutMs } = facts;
  if (log !== undefined && !('failed' in log)) {
    if (log.state === 'failed') return judgeFailure(facts, log);
    if (log.state === 'delivered') return judgeUnseen(facts, log);
    if (log.state === 'canceled') return verdict('unknown', 'the message was canceled');
  }
  const fresh = freshLog(facts, nowMs);
  if (fresh.kind !== 'read') return fresh.step;
  const { reading } = fresh;
  if ('failed' in reading) {
    return verdict('unknown', `the message did not arrive, and the log cannot be read: ${textOf(reading.failed)}`);
  }
  const patient = waitFor(facts, nowMs);
  const after = seconds(nowMs);
  if (reading.state === 'attempting') {
    return patient ?? judgeEndless(facts, `the log shows an attempt that did not end within ${after}`);
  }
  if (reading.state === 'none' && patient !== undefined) return patient;
  if (facts.publish === undefined || 'failure' in facts.publish) {
    return verdict('unknown', 'the publish request had no response, and the log has no attempt of the message');
  }
  if (facts.route === 'queue') {
    return verdict(
      'unknown',
      `the log shows no attempt after ${after}; the message may wait behind others of its queue`,
    );
  }
  if (facts.route === 'flowControlKey') {
    if (facts.flow === undefined) return ask('flow');
    if (facts.flow === 'unknown') {
      return verdict('unknown', `the log shows no attempt after ${after}, and the flow-control key cannot be read`);
    }
    if (facts.flow) {
      return verdict('throttled', `the message waits for its flow-control key, without an attempt after ${after}`);
    }
  }
  if (nowMs < timeoutMs) return { kind: 'wait', untilMs: timeoutMs };
  const lacks = reading.state === 'none' ? 'no entry of it' : 'no attempt';
  return verdict('service', `the service accepted the message, but its log shows ${lacks} after ${after}`);
}

/** An attempt has not ended, and the message did not arrive. */
function judgeEndless({ receiver, attemptMs }: CanaryFacts, what: string): CanaryStep {
  if (receiver === undefined) return ask('receiver');
  if (receiver === 'other') return verdict('receiver', `${what}, and another server answers at hooks.publicUrl`);
  if (receiver === 'fails') return verdict('receiver', `${what}, and the hooks listener does not answer the daemon`);
  if (attemptMs === undefined) return verdict('unknown', `${what}; nothing limits the attempts of a workflow run`);
  return verdict('service', `${what}, beyond its limit, and the hooks listener answers the daemon`);
}

/** Message that a reason names. */
type Subject = 'message' | 'callback';

/** The log reports an attempt that failed, and the message or its callback did not arrive. */
function judgeFailure(facts: CanaryFacts, log: Logged, subject: Subject = 'message'): CanaryStep {
  const { reason, status, error = '' } = log.failure ?? { reason: 'no_response' };
  if (facts.isStoring === true) {
    return verdict('receiver', 'the attempt ended before the hooks listener had stored the message');
  }
  if (status !== undefined && reason === 'http') return judgeStatus(facts, { status, ...log }, subject);
  if (facts.rejections.length > 0) return judgeRejection(facts);
  if (reason === 'other' || reason === 'no_response') {
    if (/quota|budget|exhaust/i.test(error)) return verdict('account', `the service did not deliver: ${quoted(error)}`);
    return verdict('unknown', `the attempt failed for a reason that says too little: ${quoted(error)}`);
  }
  const what = `the attempt to deliver the ${subject} failed (${reason})`;
  const { receiver } = facts;
  if (receiver === undefined) return ask('receiver');
  if (receiver === 'answers') {
    return verdict('network', `${what}, and the hooks listener, which saw nothing, answers the daemon`);
  }
  if (receiver === 'other') return verdict('receiver', `${what}, and another server answers at hooks.publicUrl`);
  return verdict('receiver', `${what}, and the hooks listener does not answer the daemon either`);
}

/** The log reports a status of the receiver, and the message did not arrive. */
function judgeStatus(
  facts: CanaryFacts,
  { status, hasResponse }: Logged & { status: number },
  subject: Subject,
): CanaryStep {
  const own = facts.rejections.filter((one) => one.status === status);
  if (own.some(({ reason }) => reason === 'own')) {
    return verdict('receiver', `the hooks listener rejected the ${subject} with HTTP ${status}`);
  }
  if (own.length > 0) return judgeRejection(facts);
  if (facts.receiver === undefined) return ask('receiver');
  const what = `the ${subject} failed with HTTP ${status}`;
  if (facts.receiver !== 'answers') {
    return verdict('receiver', `${what}, and hooks.publicUrl does not lead to the hooks listener`);
  }
  if (hasResponse === true) return verdict('receiver', `${what}, which a proxy sent in place of the hooks listener`);
  if (!facts.logsResponses)
    return verdict('unknown', `${what}, which the hooks listener did not send; a proxy may have`);
  return verdict(blamed(subject), `${what}, but the log has no response, and the hooks listener sent none`);
}

/** The service is to blame if the message did not arrive, and its reports if only the callback did not. */
function blamed(subject: Subject): CanaryVerdict {
  return subject === 'message' ? 'service' : 'service_reporting';
}

/** The hooks listener rejected a request that it cannot attribute. */
function judgeRejection({ rejections }: CanaryFacts): CanaryStep {
  if (rejections.some(({ reason }) => reason === 'own')) {
    return verdict('receiver', 'the hooks listener rejected the message');
  }
  if (rejections.some(({ reason }) => reason === 'changed')) {
    return verdict('receiver', 'a proxy changed the message: the service signed the one that was published');
  }
  const isSigned = rejections.some(({ reason }) => reason === 'signature');
  const what = isSigned
    ? 'a message with a signature that is not valid for the signing keys'
    : 'a request without a valid code of this canary';
  return verdict('unknown', `the hooks listener rejected ${what}`);
}

/** The log reports a delivery that did not arrive. */
function judgeUnseen(facts: CanaryFacts, { hasResponse }: Logged, subject: Subject = 'message'): CanaryStep {
  const { receiver } = facts;
  if (facts.rejections.length > 0) return judgeRejection(facts);
  const what = `the log reports the delivery of the ${subject}, but it did not arrive`;
  if (receiver === undefined) return ask('receiver');
  if (receiver === 'other') return verdict('receiver', `${what}: another server answers at hooks.publicUrl`);
  if (receiver === 'answers') {
    if (hasResponse === true) return verdict('receiver', `${what}: a proxy responded in place of the hooks listener`);
    if (!facts.logsResponses) return verdict('unknown', `${what}; a proxy may have responded to it`);
    return verdict(blamed(subject), `${what}, and the log has no response, which it has for others`);
  }
  return verdict('unknown', `${what}, and the hooks listener does not answer the daemon`);
}

/** The message arrived at least once. */
function judgeArrived(facts: CanaryFacts, nowMs: number): CanaryStep {
  const { arrivals, publish, timeoutMs, attemptMs = Infinity } = facts;
  const first = arrivals[0]!;
  if (first.altered) return verdict('service', 'the message arrived with another body');
  if (publish !== undefined && 'failure' in publish && publish.failure.code !== 'aborted') {
    return judgePublish(facts, publish.failure);
  }
  if (arrivals.length > 1) return judgeTwice(facts);
  if (first.afterMs > timeoutMs) return judgeLate(facts, first.afterMs);
  const isReported = loggedOf(facts.log)?.state === 'delivered';
  const isCalled = facts.route === 'workflow' || isSuccess(facts.callback?.status);
  if (isReported && isCalled) return verdict('ok', 'the message was delivered and reported');
  if (first.answerMs !== undefined && first.answerMs >= attemptMs) {
    return verdict('receiver', `the hooks listener needed ${seconds(first.answerMs)} to respond`);
  }
  const failed = loggedOf(facts.log);
  if (failed?.state === 'failed') return judgeContradiction(facts, failed);
  const fresh = freshLog(facts, nowMs);
  if (fresh.kind !== 'read') return fresh.step;
  const { reading } = fresh;
  if ('failed' in reading) return judgeUnreadable(reading.failed);
  const patient = waitFor(facts, nowMs);
  if (!isReported) return patient ?? judgeUnreported(facts, reading, nowMs);
  return judgeCallback(facts, nowMs);
}

/** The message arrived in time, and the log does not report its delivery. */
function judgeUnreported({ receiver, attemptMs, callback }: CanaryFacts, { state }: Logged, nowMs: number): CanaryStep {
  const what = `the message arrived, but the log does not report it after ${seconds(nowMs)}`;
  // Without a callback, the service may still wait for the response.
  if (state === 'attempting' && callback === undefined) {
    if (receiver === undefined) return ask('receiver');
    if (receiver !== 'answers')
      return verdict('receiver', `${what}, and the hooks listener does not answer the daemon`);
    if (attemptMs === undefined) return verdict('unknown', `${what}; the response may be on its way`);
  }
  return verdict('service_reporting', what);
}

/** A further arrival is the service's if the sender had the response to the first one. */
function judgeTwice({ arrivals }: CanaryFacts): CanaryStep {
  if (arrivals.some(({ isRepeated }) => isRepeated === true)) return verdict('service', 'the message arrived twice');
  return verdict('unknown', 'the message arrived again before the first response; a proxy may have sent it again');
}

function judgeLate(facts: CanaryFacts, afterMs: number): CanaryStep {
  const what = `the message arrived after ${seconds(afterMs)}`;
  if (facts.route === 'queue') return verdict('unknown', `${what}; it may have waited behind others of its queue`);
  if (facts.route === 'flowControlKey') {
    return verdict('unknown', `${what}; it may have waited for its flow-control key`);
  }
  // The delay may be in front of the hooks listener.
  if (facts.receiver === undefined) return ask('receiver');
  if (facts.receiver !== 'answers') {
    return verdict('unknown', `${what}, and the hooks listener does not answer the daemon either`);
  }
  return verdict('service', `${what}, later than its timeout, and the hooks listener answers the daemon`);
}

/** The message arrived and was accepted, but the log reports a failed attempt. */
function judgeContradiction({ receiver, logsResponses }: CanaryFacts, { failure, hasResponse }: Logged): CanaryStep {
  if (failure?.status === undefined) {
    const what = 'the message arrived, but the log reports an attempt without a response';
    if (receiver === undefined) return ask('receiver');
    if (receiver === 'answers') return verdict('unknown', `${what}; the response may have been lost`);
    return verdict('receiver', `${what}, and the hooks listener does not answer the daemon in time`);
  }
  const what = `the message arrived, but the log reports that it failed with HTTP ${failure.status}`;
  if (hasResponse === true) return verdict('receiver', `${what}, which a proxy sent in place of the hooks listener`);
  if (logsResponses) return verdict('service_reporting', `${what}, without a response`);
  return verdict('unknown', `${what}; a proxy may have sent that`);
}

function judgeUnreadable(failed: RequestFailure): CanaryStep {
  const what = `the message arrived, but the log cannot be read: ${textOf(failed)}`;
  if (isOfAccount(failed)) return verdict('account', what);
  return verdict(failed.code === 'server_error' ? 'service_reporting' : 'unknown', what);
}

/** The message arrived and the log reports it, but no callback says so. */
function judgeCallback(facts: CanaryFacts, nowMs: number): CanaryStep {
  const { callback, callbackLog } = facts;
  if (callback !== undefined) {
    const status = callback.status === undefined || callback.status === 0 ? 'no status' : `HTTP ${callback.status}`;
    return verdict('service_reporting', `the message arrived, but its callback reports ${status}`);
  }
  const patient = waitFor(facts, nowMs);
  if (callbackLog === undefined || (patient === undefined && callbackLog.afterMs < PATIENCE * facts.timeoutMs)) {
    return ask('callbackLog');
  }
  if ('failed' in callbackLog) {
    return verdict('unknown', `no callback arrived, and its log cannot be read: ${textOf(callbackLog.failed)}`);
  }
  switch (callbackLog.state) {
    case 'failed':
      return judgeFailure(facts, callbackLog, 'callback');
    case 'delivered':
      return judgeUnseen(facts, callbackLog, 'callback');
    case 'canceled':
      return verdict('unknown', 'the callback was canceled');
    case 'none':
    case 'waiting':
    case 'attempting':
      return patient ?? verdict('service_reporting', `the message arrived, but no callback after ${seconds(nowMs)}`);
  }
}

type FreshLog =
  | { readonly kind: 'read'; readonly reading: LogReading }
  | { readonly kind: 'step'; readonly step: CanaryStep };

/** Returns the reading of the log that counts: one after the timeout, and after the patience if that has passed. */
function freshLog({ log, timeoutMs }: CanaryFacts, nowMs: number): FreshLog {
  if (nowMs < timeoutMs) return { kind: 'step', step: { kind: 'wait', untilMs: timeoutMs } };
  const needed = nowMs >= PATIENCE * timeoutMs ? PATIENCE * timeoutMs : timeoutMs;
  if (log === undefined || log.afterMs < needed) return { kind: 'step', step: ask('log') };
  return { kind: 'read', reading: log };
}

/** Returns the wait until the silence of the log counts; undefined if it counts. */
function waitFor({ timeoutMs }: CanaryFacts, nowMs: number): CanaryStep | undefined {
  const untilMs = PATIENCE * timeoutMs;
  return nowMs < untilMs ? { kind: 'wait', untilMs } : undefined;
}

function loggedOf(log: LogReading | undefined): Logged | undefined {
  return log === undefined || 'failed' in log ? undefined : log;
}

function isSuccess(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status <= 299;
}

function textOf({ code, status, message }: RequestFailure): string {
  if (code === 'invalid_request') return quoted(message);
  return status === undefined ? code : `HTTP ${status}`;
}

/** Returns an external text for a reason: one line, short, without the period of a sentence. */
function quoted(text: string): string {
  const line = text
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .replace(/(?<![. ])[. ]+$/, '')
    .trimStart();
  if (line === '') return 'no text';
  return line.length <= 120 ? line : `${line.slice(0, 119)}…`;
}
