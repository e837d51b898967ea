/**
 * Makes the spans of one message: a root for the delivery, with its waits and attempts as children. Spans in other
 * traces link to it. The spans do not depend on when or how often they are sent.
 */
import { destinationOf, storableUrl } from '../aggregation/destination.ts';
import type { AttemptTrace, MessageProgress } from '../aggregation/message-trace.ts';
import * as semconv from './semconv.ts';
import type { TraceSettings } from './settings.ts';
import { serverOf, type Attribute, type Attributes, type AttributeValue, type Span, type SpanLink } from './span.ts';
import { parseTraceparent, spanIdOf, traceIdOf, workflowTraceIdOf } from './trace-ids.ts';

export interface SpanFrame {
  readonly producer: TraceSettings['producer'];
  /** Maximum length of a span in milliseconds. A longer one is shortened at its start. */
  readonly maxOpenMs: number;
  /** Returns the failed run that was resumed as this run; undefined if unknown. */
  readonly failedRun: (workflowRunId: string) => string | undefined;
}

/** Selection of a message's spans. */
export interface Telling {
  /** Positions in `attempts`. */
  readonly attempts: readonly number[];
  /** Kind of root. `open`: the root of a message without an end. `outcome`: the end after such a root. */
  readonly root?: 'whole' | 'open' | 'outcome';
  /** True if the log has one entry per message. There are no spans for waits and attempts then. */
  readonly isBare?: boolean;
}

const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);
/** Method that the service uses if the publisher names none. */
const DEFAULT_METHOD = 'POST';

const LONGEST_URL = 2_048;

/**
 * Range of valid times, 2015 to 2100. A time outside is a parsing error, and the receiver would reject the whole batch.
 */
const EARLIEST_MS = 1_420_070_400_000;
const LATEST_MS = 4_102_444_800_000;

const SYSTEM: Attribute = [semconv.ATTR_MESSAGING_SYSTEM, 'msgsvc'];
const DELIVER: Attribute = [semconv.ATTR_MESSAGING_OPERATION_NAME, 'deliver'];
const PUBLISH: readonly Attribute[] = [
  [semconv.ATTR_MESSAGING_OPERATION_NAME, 'publish'],
  [semconv.ATTR_MESSAGING_OPERATION_TYPE, 'send'],
];
const IS_OPEN: Attribute = [semconv.ATTR_MSGSVC_OPEN, true];
const NO_TRANSITIONS: Attribute = [semconv.ATTR_MSGSVC_TRANSITIONS, false];
const START_UNKNOWN: Attribute = [semconv.ATTR_MSGSVC_START_KNOWN, false];
const NO_LINKS: readonly SpanLink[] = [];

/** Spans of a message. */
export interface DeliverySpans {
  /** Root first, then waits and attempts in order. */
  readonly spans: readonly Span[];
  /** Number of spans that were omitted because they ended before the root, which was shortened for the receivers. */
  readonly tooOld: number;
}

/** Returns the spans of a message; undefined if a time of the message is invalid. */
export function deliverySpans(message: MessageProgress, telling: Telling, frame: SpanFrame): DeliverySpans | undefined {
  const delivery = new Delivery(message, frame);
  const isBare = telling.isBare === true;
  if (telling.root === 'outcome') delivery.addOutcome();
  else if (telling.root !== undefined) delivery.addRoot(telling.root, isBare);
  if (!isBare) {
    for (const index of telling.attempts) delivery.addAttempt(index);
    if (telling.root !== undefined) delivery.addLastWait();
  }
  const { spans, tooOld } = delivery;
  const areSane = spans.every(({ startMs, endMs }) => startMs >= EARLIEST_MS && endMs < LATEST_MS);
  return areSane ? { spans, tooOld } : undefined;
}

/** Spans of one message, in the order of their addition. */
class Delivery {
  readonly spans: Span[] = [];
  tooOld = 0;
  readonly #message: MessageProgress;
  readonly #frame: SpanFrame;
  readonly #producer: SpanLink | undefined;
  readonly #traceId: string;
  readonly #spanId: string;
  /** Link to the root. */
  readonly #link: SpanLink;
  readonly #destination: string;
  readonly #common: Attributes;
  #request: Request | undefined;
  /** Start of the root, if it is sent together with its children. */
  #rootMs = -Infinity;

  constructor(message: MessageProgress, frame: SpanFrame) {
    const { account, messageId, traceparent, workflowRunId } = message;
    const { producer } = frame;
    this.#message = message;
    this.#frame = frame;
    this.#producer = traceparent === undefined || producer === 'none' ? undefined : parseTraceparent(traceparent);
    const isChild = producer === 'parent' && this.#producer !== undefined;
    this.#traceId = isChild ? this.#producer.traceId : traceIdOf(account, messageId);
    this.#spanId = spanIdOf(account, messageId, 'deliver');
    this.#link = { traceId: this.#traceId, spanId: this.#spanId, sampled: true };
    this.#destination = destinationOf(message) ?? 'unknown';
    const id: Attribute = [semconv.ATTR_MESSAGING_MESSAGE_ID, messageId];
    const destination: Attribute = [semconv.ATTR_MESSAGING_DESTINATION_NAME, this.#destination];
    const run = optional(semconv.ATTR_MESSAGING_MESSAGE_CONVERSATION_ID, workflowRunId);
    const of: Attribute = [semconv.ATTR_MSGSVC_ACCOUNT, account];
    this.#common = run === undefined ? [SYSTEM, id, destination, of] : [SYSTEM, id, destination, run, of];
  }

  /** Adds the root and the spans that link to it. */
  addRoot(form: 'whole' | 'open', isBare: boolean): void {
    const { end, createdAt, attempts } = this.#message;
    const { maxOpenMs, producer: relation } = this.#frame;
    const producer = this.#producer;
    const startMs = Math.min(createdAt ?? Infinity, this.#firstKnown());
    const endMs = form === 'open' ? startMs + maxOpenMs : end!.at;
    const known = attempts.reduce((count, { endedAt }) => (endedAt <= endMs ? count + 1 : count), 0);
    this.#rootMs = beginning(startMs, endMs, maxOpenMs);
    const parent = relation === 'parent' ? producer : undefined;
    const place: SpanPlace = {
      traceId: this.#traceId,
      parentSpanId: parent?.spanId,
      isParentRemote: parent && true,
      startMs: this.#rootMs,
    };
    const root: SpanContent = {
      name: `deliver ${this.#destination}`,
      endMs,
      isError: form === 'whole' && end!.outcome === 'failed',
      attributes: [
        DELIVER,
        form === 'open' ? IS_OPEN : this.#outcome(),
        form === 'whole' && isBare ? undefined : [semconv.ATTR_MSGSVC_ATTEMPTS, known],
        form === 'whole' ? this.#error() : undefined,
        isBare ? NO_TRANSITIONS : undefined,
        createdAt === undefined ? START_UNKNOWN : undefined,
        wholeTime(startMs, endMs, maxOpenMs),
      ],
      links: relation === 'link' && producer !== undefined ? [producer] : NO_LINKS,
    };
    this.#add('deliver', root, place);
    this.#addPublish(startMs);
    if (form === 'whole') this.#addStep(startMs, endMs);
  }

  /** Adds the end that follows the root of an open message. */
  addOutcome(): void {
    const { end, createdAt } = this.#message;
    this.#addChild('outcome', {
      name: 'outcome',
      startMs: end!.at,
      endMs: end!.at,
      isError: end!.outcome === 'failed',
      attributes: [this.#outcome(), this.#attempts(), this.#error()],
    });
    this.#addStep(createdAt ?? this.#firstKnown(), end!.at);
  }

  /** Adds an attempt, and the wait before it if both its ends are known. */
  addAttempt(index: number): void {
    const { attempts } = this.#message;
    const attempt = attempts[index]!;
    const { endedAt, startedAt, responseStatus: status } = attempt;
    let ordinal = 0;
    while (index > ordinal && attempts[index - ordinal - 1]!.endedAt === endedAt) ordinal += 1;
    if (startedAt !== undefined) {
      this.#addWait({ part: `wait:${endedAt}:${ordinal}`, before: index, until: startedAt });
    }
    const request = (this.#request ??= requestOf(this.#message));
    this.#addChild(`attempt:${endedAt}:${ordinal}`, {
      name: request.name,
      kind: 'client',
      // Entries of two machines may disagree about the order of events. A span never ends before it starts.
      startMs: Math.min(startedAt ?? endedAt, endedAt),
      endMs: endedAt,
      isError: attempt.failure !== undefined,
      attributes: [
        request.method,
        request.original,
        request.url,
        request.host,
        request.port,
        optional(semconv.ATTR_HTTP_RESPONSE_STATUS_CODE, status !== undefined && status >= 100 ? status : undefined),
        optional(semconv.ATTR_HTTP_REQUEST_RESEND_COUNT, index > 0 ? index : undefined),
        optional(semconv.ATTR_ERROR_TYPE, errorType(attempt)),
        startedAt === undefined ? START_UNKNOWN : undefined,
      ],
    });
  }

  /** Adds the wait that ended with the cancellation of the message, before its next attempt. */
  addLastWait(): void {
    const { attempts, end, activeSince } = this.#message;
    if (end?.outcome !== 'cancelled' || activeSince !== undefined) return;
    this.#addWait({ part: `wait:${end.at}`, before: attempts.length, until: end.at });
  }

  #addWait({ part, before, until }: { part: string; before: number; until: number }): void {
    const { createdAt, dueAt: firstDue, attempts, postponedBy = 'delay' } = this.#message;
    const from = before === 0 ? createdAt : attempts[before - 1]!.endedAt;
    if (from === undefined || from >= until) return;
    const dueAt = attempts[before]?.dueAt ?? (before === 0 ? firstDue : undefined);
    const reason = before > 0 ? 'retry' : dueAt !== undefined && dueAt > from ? postponedBy : 'queue';
    const { maxOpenMs } = this.#frame;
    const overdue = dueAt !== undefined && until > dueAt ? until - dueAt : undefined;
    this.#addChild(part, {
      name: `wait (${reason})`,
      startMs: beginning(from, until, maxOpenMs),
      endMs: until,
      isError: false,
      attributes: [optional(semconv.ATTR_MSGSVC_OVERDUE_MS, overdue), wholeTime(from, until, maxOpenMs)],
    });
  }

  /** Adds a span to the producer's trace, so that the delivery can be found from there. */
  #addPublish(at: number): void {
    const producer = this.#producer;
    if (this.#frame.producer !== 'link' || producer === undefined || !producer.sampled) return;
    const { traceId, spanId: parentSpanId } = producer;
    const name = `publish ${this.#destination}`;
    this.#add(
      'publish',
      { name, kind: 'producer', endMs: at, isError: false, attributes: PUBLISH, links: [this.#link] },
      { traceId, parentSpanId, isParentRemote: true, startMs: at },
    );
  }

  /** Adds a span to the trace of the workflow run, which has all its steps in parallel. */
  #addStep(startMs: number, endMs: number): void {
    const { account, workflowRunId, end } = this.#message;
    if (workflowRunId === undefined) return;
    const { maxOpenMs } = this.#frame;
    const failed = this.#frame.failedRun(workflowRunId);
    const links: SpanLink[] = [this.#link];
    if (failed !== undefined) {
      const spanOfRun = spanIdOf(account, failed, 'run');
      links.push({ traceId: workflowTraceIdOf(account, failed), spanId: spanOfRun, sampled: true });
    }
    const attributes = [this.#outcome(), this.#attempts(), this.#error(), wholeTime(startMs, endMs, maxOpenMs)];
    this.#add(
      'step',
      { name: `step ${this.#destination}`, endMs, isError: end?.outcome === 'failed', attributes, links },
      { traceId: workflowTraceIdOf(account, workflowRunId), startMs: beginning(startMs, endMs, maxOpenMs) },
    );
  }

  #outcome(): Attribute {
    return [semconv.ATTR_MSGSVC_OUTCOME, this.#message.end!.outcome];
  }

  #attempts(): Attribute {
    return [semconv.ATTR_MSGSVC_ATTEMPTS, this.#message.attempts.length];
  }

  #error(): Attribute | undefined {
    const { attempts, end } = this.#message;
    if (end!.outcome !== 'failed') return undefined;
    const last = attempts.at(-1);
    return [semconv.ATTR_ERROR_TYPE, (last && errorType(last)) ?? '_OTHER'];
  }

  #firstKnown(): number {
    const { attempts, end, activeSince = Infinity } = this.#message;
    const times = attempts.map(({ startedAt, endedAt }) => Math.min(startedAt ?? endedAt, endedAt));
    return Math.min(...times, activeSince, end?.at ?? Infinity);
  }

  #addChild(part: string, content: SpanContent & Pick<Span, 'startMs'>): void {
    // A span must not start before its parent.
    const isSane = content.startMs >= EARLIEST_MS;
    if (isSane && content.endMs < this.#rootMs) {
      this.tooOld += 1;
      return;
    }
    const startMs = isSane ? Math.max(content.startMs, this.#rootMs) : content.startMs;
    this.#add(part, content, { traceId: this.#traceId, parentSpanId: this.#spanId, startMs });
  }

  /** Adds a span. All have the same shape, which makes writing them fast. */
  #add(
    part: string,
    { name, kind = 'internal', endMs, isError, attributes, links = NO_LINKS }: SpanContent,
    { traceId, startMs, parentSpanId, isParentRemote }: SpanPlace,
  ): void {
    const { account, messageId } = this.#message;
    const spanId = part === 'deliver' ? this.#spanId : spanIdOf(account, messageId, part);
    const common = this.#common;
    this.spans.push({
      traceId,
      spanId,
      parentSpanId,
      isParentRemote,
      name,
      kind,
      startMs,
      endMs,
      isError,
      common,
      attributes,
      links,
    });
  }
}

type SpanPlace = Pick<Span, 'traceId' | 'parentSpanId' | 'isParentRemote' | 'startMs'>;

/** Span without its place and what all spans of a message share. Default: an internal span without links. */
type SpanContent = Pick<Span, 'name' | 'endMs' | 'isError' | 'attributes'> & Partial<Pick<Span, 'kind' | 'links'>>;

/** Returns the start of a span. A span never ends before it starts, and is never longer than receivers accept. */
function beginning(fromMs: number, endMs: number, longestMs: number): number {
  return Math.max(Math.min(fromMs, endMs), endMs - longestMs);
}

function wholeTime(fromMs: number, endMs: number, longestMs: number): Attribute | undefined {
  return endMs - fromMs > longestMs ? [semconv.ATTR_MSGSVC_WHOLE_MS, endMs - fromMs] : undefined;
}

/** Common attributes of all attempts of a message. */
interface Request {
  readonly name: string;
  readonly method: Attribute;
  readonly original: Attribute | undefined;
  readonly url: Attribute | undefined;
  readonly host: Attribute | undefined;
  readonly port: Attribute | undefined;
}

function requestOf({ method = DEFAULT_METHOD, url: text }: MessageProgress): Request {
  const upper = method.toUpperCase();
  const isKnown = METHODS.has(upper);
  const full = text === undefined ? undefined : storableUrl(text);
  const { host, port } = serverOf(full);
  return {
    name: isKnown ? upper : 'HTTP',
    method: [semconv.ATTR_HTTP_REQUEST_METHOD, isKnown ? upper : '_OTHER'],
    original: isKnown ? undefined : [semconv.ATTR_HTTP_REQUEST_METHOD_ORIGINAL, upper],
    url: optional(semconv.ATTR_URL_FULL, full?.slice(0, LONGEST_URL)),
    host: optional(semconv.ATTR_SERVER_ADDRESS, host),
    port: optional(semconv.ATTR_SERVER_PORT, port),
  };
}

function optional(key: string, value: AttributeValue | undefined): Attribute | undefined {
  return value === undefined ? undefined : [key, value];
}

/** Returns the status if there was a response, else the failure reason. */
function errorType({ failure, responseStatus }: AttemptTrace): string | undefined {
  if (failure === undefined) return undefined;
  return failure === 'http' && responseStatus !== undefined ? String(responseStatus) : failure;
}
