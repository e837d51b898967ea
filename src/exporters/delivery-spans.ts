/**
 * The spans of one message: a root for the delivery, under it each wait and each attempt, and what leads to them from
 * other traces. Nothing in them depends on when or how often they are sent.
 */
import { destinationOf, storableUrl } from '../folds/destination.ts';
import type { AttemptTrace, MessageProgress } from '../folds/message-trace.ts';
import * as semconv from './semconv.ts';
import type { TelemetrySettings } from './settings.ts';
import type { Attributes, AttributeValue, Span, SpanLink } from './span.ts';
import { spanIdOf, traceIdOf, workflowTraceIdOf } from './trace-ids.ts';
import { parseTraceparent, type TraceParent } from './traceparent.ts';

export interface SpanFrame {
  readonly producer: TelemetrySettings['traces']['producer'];
  /** A span that would begin longer before its end is shortened, milliseconds. */
  readonly maxOpenMs: number;
  /** The run that failed and was resumed as this one; undefined when that is not known. */
  readonly failedRun: (account: string, workflowRunId: string) => string | undefined;
}

/** What is to be told of a message. */
export interface Telling {
  /** Positions in `attempts`. */
  readonly attempts: readonly number[];
  /** `open`: the root of a message without an end; `outcome`: the end after such a root. */
  readonly root?: 'whole' | 'open' | 'outcome';
  /** The log has one entry a message: there are no waits and attempts to tell of. */
  readonly isBare?: boolean;
}

const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);
/** What the service uses when the publisher names none. */
const DEFAULT_METHOD = 'POST';

const LONGEST_URL = 2_048;

/** 2015 to 2100: a time outside is a misreading, and would make the receiver refuse the batch. */
const EARLIEST_MS = 1_420_070_400_000;
const LATEST_MS = 4_102_444_800_000;

/** Root first, then waits and attempts in order; undefined when a time of the message makes no sense. */
export function deliverySpans(message: MessageProgress, telling: Telling, frame: SpanFrame): Span[] | undefined {
  const delivery = new Delivery(message, frame);
  const spans: Span[] = [];
  if (telling.root !== undefined) spans.push(...delivery.root(telling.root, telling.isBare === true));
  if (telling.isBare !== true) {
    for (const index of telling.attempts) spans.push(...delivery.attempt(index));
    if (telling.root !== undefined) spans.push(...delivery.lastWait());
  }
  return spans.every(({ startMs, endMs }) => startMs >= EARLIEST_MS && endMs < LATEST_MS) ? spans : undefined;
}

/** Where the delivery of a message is told of. */
function deliveryContext(
  message: Pick<MessageProgress, 'account' | 'messageId' | 'traceparent'>,
  producer: SpanFrame['producer'],
): { readonly traceId: string; readonly spanId: string; readonly producer: TraceParent | undefined } {
  const { account, messageId, traceparent } = message;
  const found = traceparent === undefined || producer === 'none' ? undefined : parseTraceparent(traceparent);
  return {
    traceId: producer === 'parent' && found !== undefined ? found.traceId : traceIdOf(account, messageId),
    spanId: spanIdOf(account, messageId, 'deliver'),
    producer: found,
  };
}

class Delivery {
  readonly #message: MessageProgress;
  readonly #frame: SpanFrame;
  readonly #context: ReturnType<typeof deliveryContext>;
  readonly #destination: string;
  readonly #common: Attributes;

  constructor(message: MessageProgress, frame: SpanFrame) {
    this.#message = message;
    this.#frame = frame;
    this.#context = deliveryContext(message, frame.producer);
    this.#destination = destinationOf(message) ?? 'unknown';
    this.#common = [
      [semconv.ATTR_MESSAGING_SYSTEM, 'msgsvc'],
      [semconv.ATTR_MESSAGING_MESSAGE_ID, message.messageId],
      [semconv.ATTR_MESSAGING_DESTINATION_NAME, this.#destination],
      ...optional(semconv.ATTR_MESSAGING_MESSAGE_CONVERSATION_ID, message.workflowRunId),
      [semconv.ATTR_MSGSVC_ACCOUNT, message.account],
    ];
  }

  /** The root with what leads to it, or the end that follows a root of an open message. */
  root(form: NonNullable<Telling['root']>, isBare: boolean): Span[] {
    const { end, createdAt } = this.#message;
    const startMs = createdAt ?? this.#firstKnown();
    const endMs = form === 'open' ? startMs + this.#frame.maxOpenMs : end!.at;
    if (form === 'outcome') {
      return [
        this.#child('outcome', {
          name: 'outcome',
          startMs: endMs,
          endMs,
          isError: end!.outcome === 'failed',
          attributes: this.#outcome(this.#message.attempts),
        }),
        ...this.#step(startMs, endMs),
      ];
    }
    const { producer } = this.#context;
    const isParent = this.#frame.producer === 'parent' && producer !== undefined;
    const attempts = this.#message.attempts.filter(({ endedAt }) => endedAt <= endMs);
    const root: Span = {
      ...this.#context,
      ...(isParent && { parentSpanId: producer.spanId, isParentRemote: true }),
      name: `deliver ${this.#destination}`,
      kind: 'internal',
      ...within(startMs, endMs, this.#frame.maxOpenMs),
      isError: form === 'whole' && end!.outcome === 'failed',
      attributes: [
        ...this.#common,
        [semconv.ATTR_MESSAGING_OPERATION_NAME, 'deliver'],
        ...(form === 'open'
          ? ([
              [semconv.ATTR_MSGSVC_OPEN, true],
              [semconv.ATTR_MSGSVC_ATTEMPTS, attempts.length],
            ] as const)
          : this.#outcome(isBare ? undefined : attempts)),
        ...(isBare ? ([[semconv.ATTR_MSGSVC_TRANSITIONS, false]] as const) : []),
        ...(createdAt === undefined ? ([[semconv.ATTR_MSGSVC_START_KNOWN, false]] as const) : []),
        ...wholeTime(startMs, endMs, this.#frame.maxOpenMs),
      ],
      links: this.#frame.producer === 'link' && producer !== undefined ? [producer] : [],
    };
    return [root, ...this.#publish(startMs), ...(form === 'whole' ? this.#step(startMs, endMs) : [])];
  }

  /** The wait before an attempt, where both its ends are known, and the attempt. */
  attempt(index: number): Span[] {
    const message = this.#message;
    const attempt = message.attempts[index]!;
    const { endedAt, startedAt } = attempt;
    let ordinal = 0;
    while (index > ordinal && message.attempts[index - ordinal - 1]!.endedAt === endedAt) ordinal += 1;
    const method = (message.method ?? DEFAULT_METHOD).toUpperCase();
    const spans: Span[] = [];
    if (startedAt !== undefined) {
      spans.push(...this.#wait({ part: `wait:${endedAt}:${ordinal}`, before: index, until: startedAt }));
    }
    spans.push({
      ...this.#child(`attempt:${endedAt}:${ordinal}`, {
        name: METHODS.has(method) ? method : 'HTTP',
        // Entries of two machines may disagree about the order of what happened: a span never ends before it starts.
        startMs: Math.min(startedAt ?? endedAt, endedAt),
        endMs: endedAt,
        isError: attempt.failure !== undefined,
        attributes: attemptAttributes(attempt, { index, method, url: message.url }),
      }),
      kind: 'client',
    });
    return spans;
  }

  /** The wait that the end of the message ended: it was cancelled before its next attempt. */
  lastWait(): Span[] {
    const { attempts, end, activeSince } = this.#message;
    if (end?.outcome !== 'cancelled' || activeSince !== undefined) return [];
    return this.#wait({ part: `wait:${end.at}`, before: attempts.length, until: end.at });
  }

  #wait({ part, before, until }: { part: string; before: number; until: number }): Span[] {
    const { createdAt, dueAt: firstDue, attempts, postponedBy = 'delay' } = this.#message;
    const from = before === 0 ? createdAt : attempts[before - 1]!.endedAt;
    if (from === undefined || from >= until) return [];
    const dueAt = attempts[before]?.dueAt ?? (before === 0 ? firstDue : undefined);
    const reason = before > 0 ? 'retry' : dueAt !== undefined && dueAt > from ? postponedBy : 'queue';
    const { maxOpenMs } = this.#frame;
    return [
      this.#child(part, {
        name: `wait (${reason})`,
        ...within(from, until, maxOpenMs),
        isError: false,
        attributes: [
          ...(dueAt !== undefined && until > dueAt ? ([[semconv.ATTR_MSGSVC_OVERDUE_MS, until - dueAt]] as const) : []),
          ...wholeTime(from, until, maxOpenMs),
        ],
      }),
    ];
  }

  /** Into the producer's trace, so that the delivery is found from there. */
  #publish(at: number): Span[] {
    const { producer, traceId, spanId } = this.#context;
    if (this.#frame.producer !== 'link' || producer === undefined || !producer.sampled) return [];
    const { account, messageId } = this.#message;
    return [
      {
        traceId: producer.traceId,
        spanId: spanIdOf(account, messageId, 'publish'),
        parentSpanId: producer.spanId,
        isParentRemote: true,
        name: `publish ${this.#destination}`,
        kind: 'producer',
        startMs: at,
        endMs: at,
        isError: false,
        attributes: [
          ...this.#common,
          [semconv.ATTR_MESSAGING_OPERATION_NAME, 'publish'],
          [semconv.ATTR_MESSAGING_OPERATION_TYPE, 'send'],
        ],
        links: [{ traceId, spanId, sampled: true }],
      },
    ];
  }

  /** Into the trace of the workflow run, which has all its steps side by side. */
  #step(startMs: number, endMs: number): Span[] {
    const { account, messageId, workflowRunId, attempts, end } = this.#message;
    if (workflowRunId === undefined) return [];
    const { traceId, spanId } = this.#context;
    const failed = this.#frame.failedRun(account, workflowRunId);
    const links: SpanLink[] = [{ traceId, spanId, sampled: true }];
    if (failed !== undefined) {
      const spanOfRun = spanIdOf(account, failed, 'run');
      links.push({ traceId: workflowTraceIdOf(account, failed), spanId: spanOfRun, sampled: true });
    }
    return [
      {
        traceId: workflowTraceIdOf(account, workflowRunId),
        spanId: spanIdOf(account, messageId, 'step'),
        name: `step ${this.#destination}`,
        kind: 'internal',
        ...within(startMs, endMs, this.#frame.maxOpenMs),
        isError: end?.outcome === 'failed',
        attributes: [...this.#common, ...this.#outcome(attempts), ...wholeTime(startMs, endMs, this.#frame.maxOpenMs)],
        links,
      },
    ];
  }

  #outcome(attempts: readonly AttemptTrace[] | undefined): Attributes {
    const outcome = this.#message.end!.outcome;
    const last = this.#message.attempts.at(-1);
    return [
      [semconv.ATTR_MSGSVC_OUTCOME, outcome],
      ...optional(semconv.ATTR_MSGSVC_ATTEMPTS, attempts?.length),
      ...(outcome === 'failed' ? ([[semconv.ATTR_ERROR_TYPE, (last && errorType(last)) ?? '_OTHER']] as const) : []),
    ];
  }

  #firstKnown(): number {
    const { attempts, end, activeSince = Infinity } = this.#message;
    const times = attempts.map(({ startedAt, endedAt }) => Math.min(startedAt ?? endedAt, endedAt));
    return Math.min(...times, activeSince, end?.at ?? Infinity);
  }

  #child(part: string, content: Pick<Span, 'name' | 'startMs' | 'endMs' | 'isError' | 'attributes'>): Span {
    const { account, messageId } = this.#message;
    return {
      traceId: this.#context.traceId,
      spanId: spanIdOf(account, messageId, part),
      parentSpanId: this.#context.spanId,
      name: content.name,
      kind: 'internal',
      startMs: content.startMs,
      endMs: content.endMs,
      isError: content.isError,
      attributes: [...this.#common, ...content.attributes],
      links: [],
    };
  }
}

/** A span never ends before it starts, and never starts so long ago that no receiver would take it. */
function within(fromMs: number, endMs: number, longestMs: number): { startMs: number; endMs: number } {
  return { startMs: Math.max(Math.min(fromMs, endMs), endMs - longestMs), endMs };
}

function wholeTime(fromMs: number, endMs: number, longestMs: number): Attributes {
  return endMs - fromMs > longestMs ? [[semconv.ATTR_MSGSVC_WHOLE_MS, endMs - fromMs]] : [];
}

function attemptAttributes(
  attempt: AttemptTrace,
  { index, method, url: text }: { index: number; method: string; url: string | undefined },
): Attributes {
  const full = text === undefined ? undefined : storableUrl(text);
  const { host, port } = serverOf(full);
  const { responseStatus: status } = attempt;
  return [
    [semconv.ATTR_HTTP_REQUEST_METHOD, METHODS.has(method) ? method : '_OTHER'],
    ...optional(semconv.ATTR_HTTP_REQUEST_METHOD_ORIGINAL, METHODS.has(method) ? undefined : method),
    ...optional(semconv.ATTR_URL_FULL, full?.slice(0, LONGEST_URL)),
    ...optional(semconv.ATTR_SERVER_ADDRESS, host),
    ...optional(semconv.ATTR_SERVER_PORT, port),
    ...optional(semconv.ATTR_HTTP_RESPONSE_STATUS_CODE, status !== undefined && status >= 100 ? status : undefined),
    ...optional(semconv.ATTR_HTTP_REQUEST_RESEND_COUNT, index > 0 ? index : undefined),
    ...optional(semconv.ATTR_ERROR_TYPE, errorType(attempt)),
    ...optional(semconv.ATTR_MSGSVC_START_KNOWN, attempt.startedAt === undefined ? false : undefined),
  ];
}

function optional(key: string, value: AttributeValue | undefined): Attributes {
  return value === undefined ? [] : [[key, value]];
}

/** The status where there was an answer, else the bounded reason. */
function errorType({ failure, responseStatus }: AttemptTrace): string | undefined {
  if (failure === undefined) return undefined;
  return failure === 'http' && responseStatus !== undefined ? String(responseStatus) : failure;
}

function serverOf(text: string | undefined): { readonly host?: string; readonly port?: number } {
  const url = text === undefined ? null : URL.parse(text);
  if (url === null || url.hostname === '') return {};
  const port = url.port !== '' ? Number(url.port) : url.protocol === 'https:' ? 443 : 80;
  return { host: url.hostname, port };
}
