/** Converts the headers of a publish, trigger or resume into delivery settings (interface 4.1). */
import { parseServiceDuration } from './durations.ts';
import { beyondPlan, type Limits } from '../state/limits.ts';
import type { CallbackSetting, FlowControlSetting, Redaction } from '../state/message.ts';
import { LATEST_NOT_BEFORE } from './header-parameters.ts';
import { ApiError } from '../state/api-error.ts';
import type { ServiceHeaders } from './service-headers.ts';

/** Default number of retries of a workflow run, on every plan. */
export const WORKFLOW_RETRIES = 3;

/** Returns the maximum duration of the request. A given value shortens the plan's maximum and never extends it. */
export function readTimeout(headers: ServiceHeaders, name: string, limits: Limits): number {
  const given = headers.duration(name);
  if (given === 0) throw new ApiError(400, `${headers.called(name)} must be longer than 0`);
  return Math.min(given ?? limits.timeoutMs, limits.timeoutMs);
}

/** @throws {ApiError} 412 for more retries than the plan allows */
export function readRetries(headers: ServiceHeaders, name: string, limits: Limits): number | undefined {
  const retries = headers.integer(name);
  if (retries === undefined || retries <= limits.retries) return retries;
  throw beyondPlan(limits, `${headers.called(name)} is ${retries}, more than ${limits.retries}`);
}

/**
 * Returns the delay in milliseconds.
 *
 * @throws {ApiError} 412 for a longer delay than the plan allows
 */
export function readDelay(headers: ServiceHeaders, name: string, limits: Limits): number | undefined {
  const delay = headers.duration(name);
  if (delay !== undefined) checkDelay(delay, headers.called(name), limits);
  return delay;
}

function checkDelay(ms: number, called: string, limits: Limits): void {
  if (ms <= limits.delayMs) return;
  throw beyondPlan(limits, `${called} requests a delay of more than ${limits.delayMs / 1_000} s`);
}

/**
 * Returns the time before which nothing is delivered, in epoch milliseconds. `Not-Before` takes precedence over
 * `Delay`.
 */
export function readNotBefore(headers: ServiceHeaders, now: number, limits: Limits): number {
  const delay = headers.duration('Delay') ?? 0;
  const notBefore = headers.integer('Not-Before');
  if (notBefore === undefined) {
    checkDelay(delay, headers.called('Delay'), limits);
    return now + delay;
  }
  if (notBefore > LATEST_NOT_BEFORE) {
    throw new ApiError(
      400,
      `${headers.called('Not-Before')} is a Unix time in seconds; ${notBefore} looks like milliseconds`,
    );
  }
  checkDelay(notBefore * 1_000 - now, headers.called('Not-Before'), limits);
  return Math.max(now, notBefore * 1_000);
}

/** @throws {ApiError} 400 for a key without a value, a value without a key, or an empty or invalid value */
export function readFlowControl(headers: ServiceHeaders): FlowControlSetting | undefined {
  const key = headers.text('Flow-Control-Key');
  const value = headers.flowControl('Flow-Control-Value');
  if (key === undefined && value === undefined) return undefined;
  const name = headers.called('Flow-Control-Value');
  if (key === undefined) throw new ApiError(400, `${name} needs ${headers.called('Flow-Control-Key')}`);
  if (value === undefined) throw new ApiError(400, `${headers.called('Flow-Control-Key')} needs ${name}`);
  const given = new Map<string, string>();
  for (const part of value.split(',')) {
    const [, setting, text] = /^\s*(parallelism|rate|period)\s*=\s*(\w+)\s*$/.exec(part) ?? [];
    if (setting === undefined || text === undefined || given.has(setting)) {
      throw new ApiError(400, `${name} must be parallelism=<value>, rate=<value>, period=<value>, not ${value}`);
    }
    given.set(setting, text);
  }
  const parallelism = positive(given.get('parallelism'), name);
  const rate = positive(given.get('rate'), name);
  const period = given.get('period');
  if (parallelism === undefined && rate === undefined) throw new ApiError(400, `${name} needs a parallelism or a rate`);
  if (rate === undefined && period !== undefined) throw new ApiError(400, `${name} has a period without a rate`);
  const periodMs = period === undefined ? 1_000 : parseServiceDuration(period);
  if (periodMs === undefined || periodMs === 0) {
    throw new ApiError(400, `the period in ${name} must be seconds or a duration such as 1m, not ${period}`);
  }
  return {
    key,
    ...(parallelism !== undefined && { parallelism }),
    ...(rate !== undefined && { rate, periodMs }),
  };
}

function positive(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new ApiError(400, `${name} has ${text}: it must be a whole number above 0`);
  return Number(text);
}

const CALLBACK_SETTINGS = ['Method', 'Timeout', 'Retries', 'Retry-Delay', 'Delay'];

/** @param group `Callback` or `Failure-Callback` */
export function readCallback(headers: ServiceHeaders, group: string, limits: Limits): CallbackSetting | undefined {
  const url = headers.httpUrl(group);
  const forwarded = headers.forwarded(`${group}-Forward`);
  if (url === undefined) {
    const stray = CALLBACK_SETTINGS.find((setting) => headers.has(`${group}-${setting}`));
    if (stray === undefined && forwarded.length === 0) return undefined;
    const name = headers.called(`${group}-${stray ?? `Forward-${forwarded[0]?.[0]}`}`);
    throw new ApiError(400, `${name} needs ${headers.called(group)}`);
  }
  const timeout = headers.has(`${group}-Timeout`);
  const retries = readRetries(headers, `${group}-Retries`, limits);
  const retryDelay = headers.expression(`${group}-Retry-Delay`);
  return {
    url,
    headers: forwarded,
    method: headers.method(`${group}-Method`) ?? 'POST',
    ...(timeout && { timeoutMs: readTimeout(headers, `${group}-Timeout`, limits) }),
    ...(retries !== undefined && { retries }),
    ...(retryDelay !== undefined && { retryDelay }),
    delayMs: readDelay(headers, `${group}-Delay`, limits) ?? 0,
  };
}

/** Parses `body`, `headers` and `header[<name>]`. */
/** The interface has `headers`; clients send `header`. */
const ALL_HEADERS = ['headers', 'header'];

export function readRedaction(headers: ServiceHeaders): Redaction | undefined {
  const fields = headers.list('Redact-Fields');
  if (fields.length === 0) return undefined;
  const names = new Set<string>();
  for (const field of fields) {
    if (field === 'body' || ALL_HEADERS.includes(field)) continue;
    const name = /^header\[ *([\w!#$%&'*+.^`|~-]+) *\]$/.exec(field)?.[1];
    if (name === undefined) {
      throw new ApiError(
        400,
        `${headers.called('Redact-Fields')} takes body, headers and header[<name>], not ${field}`,
      );
    }
    // The name may be the one that the destination receives, or the one with the forward prefix.
    const [own, forward] = [name.toLowerCase(), headers.called('Forward-').toLowerCase()];
    names.add(own.startsWith(forward) ? own.slice(forward.length) : own);
  }
  return { body: fields.includes('body'), headers: fields.some((field) => ALL_HEADERS.includes(field)) ? true : names };
}
