/**
 * Makes the spans of each commit of the log fold, within what may be made a second and kept at once. What finds no room
 * is dropped message by message and counted: an outage is a storm of spans, and must not become one of the disk.
 */
import type { SpanBatch } from '../aggregation/span-batch.ts';
import type { SpanOutbox, SpanSource, CommitFacts } from '../aggregation/span-outbox.ts';
import type { MessageProgress } from '../aggregation/message-trace.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus, OpsEvent } from '#foundation/events/events.ts';
import { deliverySpans, type SpanFrame, type Telling } from './delivery-spans.ts';
import type { TraceSettings } from './settings.ts';
import { FrameWriter } from './span-frames.ts';
import { isSlow, sampled, tellingOf } from './span-sampling.ts';
import type { SpanHead } from './span.ts';

/** Spans that may wait in the store; a span takes about 400 bytes there. */
const QUEUE_SPANS = 65_536;
const BATCH_SPANS = 512;
/** The log is read in lumps: what was not used within this time may be used at once. */
const BURST_MS = 60_000;

export interface SpanSourceOptions {
  readonly settings: TraceSettings;
  readonly protocol: SpanBatch['protocol'];
  readonly outbox: Pick<SpanOutbox, 'leftOpen' | 'waiting'>;
  readonly clock: Clock;
  readonly events: EventBus;
  readonly headOf: (account: string) => SpanHead;
  readonly failedRun: SpanFrame['failedRun'];
}

type DropReason = Extract<OpsEvent, { type: 'spans.dropped' }>['reason'];

export function createSpanSource(options: SpanSourceOptions): SpanSource {
  const { settings, protocol, outbox, clock, events, headOf, failedRun } = options;
  const frame: SpanFrame = {
    producer: settings.producer,
    maxOpenMs: settings.maxOpen,
    failedRun(...run) {
      try {
        return failedRun(...run);
      } catch {
        // What is counted must not fail for what is only linked.
        return undefined;
      }
    },
  };
  const writer = new FrameWriter(protocol);
  const budget = new Budget(settings.maxSpansPerSecond, clock);

  return (facts) => {
    const { account } = facts;
    const madeAt = clock.now();
    const head = JSON.stringify(headOf(account));
    const batches: SpanBatch[] = [];
    const dropped = new Map<DropReason, number>();
    let room = QUEUE_SPANS - outbox.waiting().spans;
    const drop = (reason: DropReason, spans: number): void => {
      dropped.set(reason, (dropped.get(reason) ?? 0) + spans);
    };
    const cut = (): void => {
      if (writer.spans > 0) batches.push({ protocol, head, madeAt, ...writer.take() });
    };
    const tell = (message: MessageProgress, telling: Telling): boolean => {
      const made = deliverySpans(message, telling, frame);
      if (made === undefined) {
        drop('unreadable', telling.attempts.length + (telling.root === undefined ? 0 : 1));
        return false;
      }
      const spans = made.spans.filter(({ startMs }) => startMs >= madeAt - settings.maxAge);
      const tooOld = made.tooOld + made.spans.length - spans.length;
      if (tooOld > 0) drop('too_old', tooOld);
      if (spans.length > room) drop('queue', spans.length);
      else if (!budget.take(spans.length)) drop('budget', spans.length);
      else {
        room -= spans.length;
        if (writer.spans + spans.length > BATCH_SPANS) cut();
        for (const span of spans) writer.add(span);
        return true;
      }
      return false;
    };

    const known = outbox.leftOpen(account);
    for (const message of facts.progress) {
      const isLeftOpen = known.has(message.messageId);
      const telling = tellingOf(message, settings, { isLeftOpen, isBare: facts.form === 'present' });
      if (telling !== undefined) tell(message, telling);
    }
    const leftOpen: string[] = [];
    const due = openTooLong(facts, settings.maxOpen);
    for (const message of due.length === 0 ? [] : facts.progressOf(due)) {
      if (message.end !== undefined || known.has(message.messageId)) continue;
      const isSampled = sampled(message, settings);
      if (!isSampled && !isSlow(message, facts.watermark, settings.slow)) continue;
      const attempts = isSampled ? [] : heldBack(message, settings.slow);
      if (tell(message, { attempts, root: 'open' })) leftOpen.push(message.messageId);
    }
    cut();
    for (const [reason, count] of dropped) events.emit({ type: 'spans.dropped', count, reason });
    return { batches, leftOpen };
  };
}

/** Messages in flight that have been open for the time at this commit, and had not been at the one before. */
function openTooLong({ from, watermark, open, opened, closed }: CommitFacts, maxOpenMs: number): string[] {
  if (watermark <= from) return [];
  const due = new Set<string>();
  const look = (messageId: string, createdAt: number | undefined): void => {
    if (createdAt === undefined) return;
    const at = createdAt + maxOpenMs;
    if (at > from && at <= watermark) due.add(messageId);
  };
  for (const [messageId, { createdAt }] of open) look(messageId, createdAt);
  for (const { messageId, createdAt } of opened) look(messageId, createdAt);
  for (const messageId of closed) due.delete(messageId);
  return [...due];
}

/** Attempts that were not told of since nothing showed that the message is slow: all, or none once one showed it. */
function heldBack(message: MessageProgress, slowMs: number): number[] {
  const { attempts } = message;
  if (attempts.some(({ endedAt }) => isSlow(message, endedAt, slowMs))) return [];
  return attempts.map((_attempt, index) => index);
}

/** Tokens over time, on the monotonic clock. */
class Budget {
  readonly #perMs: number;
  readonly #clock: Clock;
  #left: number;
  #at: number;

  constructor(perSecond: number, clock: Clock) {
    this.#perMs = perSecond / 1_000;
    this.#clock = clock;
    this.#left = this.#perMs * BURST_MS;
    this.#at = clock.monotonic();
  }

  take(spans: number): boolean {
    const now = this.#clock.monotonic();
    this.#left = Math.min(this.#perMs * BURST_MS, this.#left + (now - this.#at) * this.#perMs);
    this.#at = now;
    if (spans > this.#left) return false;
    this.#left -= spans;
    return true;
  }
}
