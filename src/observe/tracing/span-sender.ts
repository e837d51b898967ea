/**
 * Sends the batches of the outbox, oldest first and one at a time. A batch leaves the outbox when the receiver has
 * acknowledged it or refused it for good, and in no other case but age: a receiver that is not there is waited for.
 */
import type { SpanOutbox, StoredBatch } from '../aggregation/span-outbox.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import type { OtlpPost } from './otlp-post.ts';
import { requestOf } from './span-frames.ts';

/** Each commit waits for the disk: acknowledgements are written together, and a crash sends so many again at most. */
const SETTLED_AT_ONCE = 16;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
/** A receiver may not put us off for longer. */
const LONGEST_RETRY_AFTER_MS = 300_000;

export interface SpanSenderOptions {
  readonly outbox: SpanOutbox;
  readonly post: OtlpPost;
  readonly clock: Clock;
  readonly events: EventBus;
  /** Spans that began longer ago are left out, milliseconds. */
  readonly maxAgeMs: number;
  /** Something that is not the receiver's doing went wrong: the store. */
  readonly onError: (message: string) => void;
}

export interface SpanSender extends AsyncDisposable {
  /** Resolves when nothing waits; rejects with the signal's reason. */
  flush(signal: AbortSignal): Promise<void>;
}

export function createSpanSender(options: SpanSenderOptions): SpanSender {
  const { outbox, post, clock, events, maxAgeMs, onError } = options;
  const stop = new AbortController();
  let running: Promise<void> | undefined;
  let isPutOff = false;
  let isWoken = false;

  function start(): void {
    if (stop.signal.aborted) return;
    tellWaiting();
    isWoken = true;
    running ??= run();
  }

  async function run(): Promise<void> {
    // A turn first: whoever commits is not kept.
    await Promise.resolve();
    try {
      // What is stored while the last look is taken wakes up a run that is about to end.
      while (isWoken) {
        isWoken = false;
        await drain();
      }
    } catch (error) {
      if (!stop.signal.aborted) onError(errorMessage(error));
    } finally {
      running = undefined;
    }
  }

  function tellWaiting(): void {
    events.emit({ type: 'spans.waiting', ...outbox.waiting() });
  }

  async function drain(): Promise<void> {
    const acknowledged: number[] = [];
    const settle = (): void => {
      if (acknowledged.length > 0) outbox.settle(acknowledged.splice(0));
      tellWaiting();
    };
    try {
      for (let batch = outbox.next(); batch !== undefined; batch = outbox.next(batch.id)) {
        await send(batch, settle);
        acknowledged.push(batch.id);
        if (acknowledged.length >= SETTLED_AT_ONCE) settle();
      }
    } finally {
      settle();
    }
  }

  /** @param onPutOff called before the receiver is waited for */
  async function send(batch: StoredBatch, onPutOff: () => void): Promise<void> {
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
      const { body, spans, tooOld } = requestOf(batch, clock.now() - maxAgeMs);
      const result = body === undefined ? ACCEPTED : await post.send(batch.protocol, body, stop.signal);
      if (result.kind === 'later') {
        stop.signal.throwIfAborted();
        isPutOff = true;
        onPutOff();
        await sleep(clock, Math.min(result.afterMs ?? waitMs, LONGEST_RETRY_AFTER_MS), stop.signal);
        isPutOff = false;
        continue;
      }
      const refused = result.kind === 'rejected' ? spans : Math.min(result.rejected, spans);
      if (spans > refused) {
        const lagMs = Math.max(0, clock.now() - batch.madeAt);
        events.emit({ type: 'spans.exported', count: spans - refused, lagMs });
      }
      if (refused > 0) events.emit({ type: 'spans.dropped', count: refused, reason: 'rejected' });
      if (tooOld > 0) events.emit({ type: 'spans.dropped', count: tooOld, reason: 'too_old' });
      return;
    }
  }

  const subscription = outbox.onStored(start);
  // What a process before this one left.
  start();

  return {
    async flush(signal) {
      signal.throwIfAborted();
      const aborted = Promise.withResolvers<never>();
      const onAbort = (): void => aborted.reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        await Promise.race([running, aborted.promise]);
      } finally {
        signal.removeEventListener('abort', onAbort);
      }
    },
    /** A receiver that answers gets what waits; one that does not is not waited for. What is left stays in the store. */
    async [Symbol.asyncDispose]() {
      subscription[Symbol.dispose]();
      const limit = Promise.withResolvers<void>();
      {
        using _timer = clock.after(isPutOff ? 0 : CLOSE_LIMIT_MS, limit.resolve);
        await Promise.race([running, limit.promise]);
      }
      stop.abort(new Error('the process stops'));
      await running;
      post[Symbol.dispose]();
    },
  };
}

const ACCEPTED = { kind: 'accepted', rejected: 0 } as const;
/** How long the end of the process waits for the receiver. */
const CLOSE_LIMIT_MS = 4_000;
