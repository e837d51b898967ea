/**
 * Makes the spans of each commit of the log aggregation, within a rate limit and a storage limit. Above the limits, spans are
 * dropped by message and counted: an outage produces a flood of spans, which must not overload the disk.
 */
import type { SpanBatch } from '../aggregation/span-batch.ts';
import type { CommitFacts, SpanOutbox, SpanSource } from '../aggregation/span-outbox.ts';
import type { MessageProgress } from '../aggregation/message-trace.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus, OpsEvent } from '#foundation/events/events.ts';
import { deliverySpans, type SpanFrame, type Telling } from './delivery-spans.ts';
import type { TraceSettings } from './settings.ts';
import { FrameWriter } from './span-frames.ts';
import { isSlow, sampled, tellingOf } from './span-sampling.ts';
import type { SpanHead } from './span.ts';

/** Maximum number of spans waiting in the store. A span takes about 400 bytes there. */
const QUEUE_SPANS = 65_536;
const BATCH_SPANS = 512;
/** Period of the rate limit. The log is read in bursts, so the unused rate of this period can be used at once. */
const BURST_MS = 60_000;

export interface SpanSourceOptions {
  readonly settings: TraceSettings;
  readonly protocol: SpanBatch['protocol'];
  readonly outbox: Pick<SpanOutbox, 'queued'>;
  readonly clock: Clock;
  readonly events: EventBus;
  readonly headOf: (account: string) => SpanHead;
  /** Returns the failed runs that were resumed as these runs, by the id of the new run. */
  readonly failedRuns: (account: string, workflowRunIds: Iterable<string>) => Promise<ReadonlyMap<string, string>>;
}

type DropReason = Extract<OpsEvent, { type: 'spans.dropped' }>['reason'];

export function createSpanSource(options: SpanSourceOptions): SpanSource {
  const { settings, protocol, clock, events } = options;
  const writer = new FrameWriter(protocol);
  const budget = new Budget(settings.maxSpansPerSecond, clock);

  return {
    due: (facts) => openTooLong(facts, settings.maxOpen),
    async failedRuns(account, messages) {
      try {
        const runs = messages.flatMap(({ workflowRunId }) => workflowRunId ?? []);
        return await options.failedRuns(account, runs);
      } catch {
        // A failed lookup of a link must not fail the counting.
        return new Map();
      }
    },
    make(facts, { progress, due, failedRuns }) {
      const { producer, maxOpen: maxOpenMs } = settings;
      const frame: SpanFrame = { producer, maxOpenMs, failedRun: (run) => failedRuns.get(run) };
      const spans = new CommitSpans({ ...options, writer, budget, frame }, facts.account);
      for (const message of progress) {
        const isLeftOpen = facts.leftOpen.has(message.messageId);
        const telling = tellingOf(message, settings, { isLeftOpen, isBare: facts.entryMode === 'snapshot' });
        if (telling !== undefined) spans.add(message, telling);
      }
      const leftOpen = openOf(facts, due, settings)
        .filter(({ message, telling }) => spans.add(message, telling))
        .map(({ message }) => message.messageId);
      const { batches, dropped } = spans.finish();
      for (const [reason, count] of dropped) events.emit({ type: 'spans.dropped', count, reason });
      return { batches, leftOpen };
    },
  };
}

interface CommitSpansDeps extends SpanSourceOptions {
  /** Empty, and empty again after `finish`. */
  readonly writer: FrameWriter;
  readonly budget: Budget;
  readonly frame: SpanFrame;
}

/** Collects the spans of one commit into batches and counts the dropped ones. */
class CommitSpans {
  readonly #deps: CommitSpansDeps;
  readonly #head: string;
  readonly #madeAt: number;
  readonly #batches: SpanBatch[] = [];
  readonly #dropped = new Map<DropReason, number>();
  #room: number;

  constructor(deps: CommitSpansDeps, account: string) {
    this.#deps = deps;
    this.#head = JSON.stringify(deps.headOf(account));
    this.#madeAt = deps.clock.now();
    this.#room = QUEUE_SPANS - deps.outbox.queued().spans;
  }

  /** Returns true if there was space for the spans of the message. */
  add(message: MessageProgress, telling: Telling): boolean {
    const { frame, settings, budget, writer } = this.#deps;
    const made = deliverySpans(message, telling, frame);
    if (made === undefined) {
      this.#drop('unreadable', telling.attempts.length + (telling.root === undefined ? 0 : 1));
      return false;
    }
    const spans = made.spans.filter(({ startMs }) => startMs >= this.#madeAt - settings.maxAge);
    this.#drop('too_old', made.tooOld + made.spans.length - spans.length);
    if (spans.length > this.#room) {
      this.#drop('queue', spans.length);
      return false;
    }
    if (!budget.take(spans.length)) {
      this.#drop('budget', spans.length);
      return false;
    }
    this.#room -= spans.length;
    if (writer.spans + spans.length > BATCH_SPANS) this.#cut();
    for (const span of spans) writer.add(span);
    return true;
  }

  finish(): { readonly batches: readonly SpanBatch[]; readonly dropped: ReadonlyMap<DropReason, number> } {
    this.#cut();
    return { batches: this.#batches, dropped: this.#dropped };
  }

  #cut(): void {
    const { writer, protocol } = this.#deps;
    if (writer.spans === 0) return;
    this.#batches.push({ protocol, head: this.#head, madeAt: this.#madeAt, ...writer.take() });
  }

  #drop(reason: DropReason, spans: number): void {
    if (spans > 0) this.#dropped.set(reason, (this.#dropped.get(reason) ?? 0) + spans);
  }
}

/** Returns the spans to send for messages that have been open for too long as of this commit. */
function openOf(
  facts: CommitFacts,
  due: readonly MessageProgress[],
  settings: TraceSettings,
): { readonly message: MessageProgress; readonly telling: Telling }[] {
  return due
    .filter(({ end, messageId }) => end === undefined && !facts.leftOpen.has(messageId))
    .flatMap((message) => {
      const isSampled = sampled(message, settings);
      if (!isSampled && !isSlow(message, facts.watermark, settings.slow)) return [];
      return [{ message, telling: { attempts: isSampled ? [] : heldBack(message, settings.slow), root: 'open' } }];
    });
}

/** Returns the messages in flight that reached the maximum open time between the previous commit and this one. */
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

/**
 * Returns the attempts that were held back because the message was not known to be slow. All of them, or none if an
 * attempt had shown it.
 */
function heldBack(message: MessageProgress, slowMs: number): number[] {
  const { attempts } = message;
  if (attempts.some(({ endedAt }) => isSlow(message, endedAt, slowMs))) return [];
  return attempts.map((_attempt, index) => index);
}

/** Token bucket on the monotonic clock. */
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
