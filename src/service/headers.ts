/** Request headers of publish, trigger and resume (interface 4.1), each value checked. */
import type { CallbackRequest, FlowControl, PublishRequest, ResumeOverrides, TriggerRequest } from './api.ts';
import {
  checkHeaderValue,
  checkInteger,
  checkMembers,
  checkOneOf,
  checkSeconds,
  checkText,
  checkTexts,
  checkUrl,
  checkWireDuration,
} from './arguments.ts';
import { InvalidRequestError } from './service-error.ts';
import type { WireNames } from './wire-names.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const REDACTION = /^(?:body|headers|header\[[!#$%&'*+\-.^_`|~0-9A-Za-z]+\])$/;
const ANY_COUNT = { min: 0, max: Number.MAX_SAFE_INTEGER };

const DELIVERY_MEMBERS = [
  'forwardHeaders',
  'retries',
  'retryDelay',
  'delay',
  'notBefore',
  'labels',
  'flowControl',
  'body',
];
const PUBLISH_MEMBERS = [
  'queue',
  ...DELIVERY_MEMBERS,
  'contentType',
  'method',
  'timeout',
  'deduplicationId',
  'contentBasedDeduplication',
  'callback',
  'failureCallback',
  'redactFields',
];
const TRIGGER_MEMBERS = [...DELIVERY_MEMBERS, 'workflowRunId', 'failureCallback'];
const RESUME_MEMBERS = ['retries', 'delay', 'retryDelay', 'flowControl', 'labels', 'failureCallback'];
const CALLBACK_MEMBERS = ['url', 'method', 'timeout', 'retries', 'retryDelay', 'delay', 'forwardHeaders'];

/** Headers by their name on the wire. */
export type RequestHeaders = Record<string, string>;

/** Collects the headers of one request and checks every value. */
class HeaderSet {
  readonly headers: RequestHeaders = {};
  readonly #operation: string;
  readonly #names: WireNames;

  constructor(operation: string, names: WireNames) {
    this.#operation = operation;
    this.#names = names;
  }

  plain(name: string, value: string): void {
    this.headers[name] = checkHeaderValue(this.#operation, name, value);
  }

  own(name: string, value: string): void {
    this.plain(this.#names.header(name), value);
  }

  integer(name: string, value: number | undefined): void {
    if (value !== undefined) this.own(name, String(checkInteger(this.#operation, name, value, ANY_COUNT)));
  }

  duration(name: string, value: string | undefined): void {
    if (value !== undefined) this.own(name, checkWireDuration(this.#operation, name, value));
  }

  text(name: string, value: string | undefined): void {
    if (value !== undefined) this.own(name, checkText(this.#operation, name, value));
  }

  list(name: string, values: readonly string[] | undefined): void {
    if (values !== undefined) this.own(name, checkTexts(this.#operation, name, values).join(','));
  }

  url(name: string, value: string | undefined): void {
    if (value !== undefined) this.own(name, checkUrl(this.#operation, name, value));
  }

  method(name: string, value: string | undefined): void {
    if (value !== undefined) this.own(name, checkOneOf(this.#operation, name, value, METHODS));
  }

  forward(prefix: string, forwarded: Readonly<Record<string, string>> | undefined): void {
    for (const [name, value] of Object.entries(forwarded ?? {})) {
      if (!HEADER_NAME.test(name)) {
        throw new InvalidRequestError(this.#operation, `a name in ${prefix}… headers is not a valid header name`);
      }
      this.own(`${prefix}${name}`, value);
    }
  }

  flowControl(flow: FlowControl | undefined): void {
    if (flow === undefined) return;
    checkMembers(this.#operation, flow, ['key', 'parallelism', 'rate', 'period']);
    if (flow.parallelism === undefined && flow.rate === undefined) {
      throw new InvalidRequestError(this.#operation, 'flowControl needs parallelism, rate, or both');
    }
    if (flow.period !== undefined && flow.rate === undefined) {
      throw new InvalidRequestError(this.#operation, 'flowControl.period needs a rate');
    }
    const parts = (['parallelism', 'rate', 'period'] as const).flatMap((part) => {
      const value = flow[part];
      if (value === undefined) return [];
      return `${part}=${checkInteger(this.#operation, `flowControl.${part}`, value, { ...ANY_COUNT, min: 1 })}`;
    });
    this.text('Flow-Control-Key', flow.key);
    this.own('Flow-Control-Value', parts.join(', '));
  }

  callback(name: string, callback: CallbackRequest | undefined): void {
    if (callback === undefined) return;
    checkMembers(this.#operation, callback, CALLBACK_MEMBERS);
    this.url(name, callback.url);
    this.method(`${name}-Method`, callback.method);
    this.duration(`${name}-Timeout`, callback.timeout);
    this.integer(`${name}-Retries`, callback.retries);
    this.text(`${name}-Retry-Delay`, callback.retryDelay);
    this.duration(`${name}-Delay`, callback.delay);
    this.forward(`${name}-Forward-`, callback.forwardHeaders);
  }

  delivery(request: PublishRequest | TriggerRequest): void {
    this.forward('Forward-', request.forwardHeaders);
    this.integer('Retries', request.retries);
    this.text('Retry-Delay', request.retryDelay);
    this.duration('Delay', request.delay);
    if (request.notBefore !== undefined) {
      this.own('Not-Before', String(checkSeconds(this.#operation, 'notBefore', request.notBefore)));
    }
    this.list('Label', request.labels);
    this.flowControl(request.flowControl);
  }
}

export function publishHeaders(operation: string, names: WireNames, request: PublishRequest): RequestHeaders {
  checkMembers(operation, request, PUBLISH_MEMBERS);
  const set = new HeaderSet(operation, names);
  if (request.contentType !== undefined)
    set.plain('Content-Type', checkText(operation, 'contentType', request.contentType));
  set.delivery(request);
  set.method('Method', request.method);
  set.duration('Timeout', request.timeout);
  set.text('Deduplication-Id', request.deduplicationId);
  if (request.contentBasedDeduplication !== undefined) {
    set.own('Content-Based-Deduplication', request.contentBasedDeduplication ? 'true' : 'false');
  }
  set.callback('Callback', request.callback);
  set.callback('Failure-Callback', request.failureCallback);
  if (request.redactFields !== undefined && !request.redactFields.every((field) => REDACTION.test(field))) {
    throw new InvalidRequestError(operation, 'redactFields must be body, headers or header[<name>]');
  }
  set.list('Redact-Fields', request.redactFields);
  return set.headers;
}

export function triggerHeaders(operation: string, names: WireNames, request: TriggerRequest): RequestHeaders {
  checkMembers(operation, request, TRIGGER_MEMBERS);
  const set = new HeaderSet(operation, names);
  set.plain('Content-Type', 'text/plain');
  set.delivery(request);
  set.text('Workflow-RunId', request.workflowRunId);
  if (request.failureCallback !== undefined) {
    checkMembers(operation, request.failureCallback, ['url', 'forwardHeaders']);
    set.callback('Failure-Callback', request.failureCallback);
  }
  return set.headers;
}

export function resumeHeaders(operation: string, names: WireNames, overrides: ResumeOverrides): RequestHeaders {
  checkMembers(operation, overrides, RESUME_MEMBERS);
  const set = new HeaderSet(operation, names);
  set.integer('Retries', overrides.retries);
  set.duration('Delay', overrides.delay);
  set.text('Retry-Delay', overrides.retryDelay);
  set.flowControl(overrides.flowControl);
  set.list('Label', overrides.labels);
  set.url('Failure-Callback', overrides.failureCallback);
  return set.headers;
}
