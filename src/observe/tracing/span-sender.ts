/**
 * Sends the batches of the outbox, oldest first and one at a time. A batch leaves the outbox when the receiver has
 * acknowledged it or refused it for good, and in no other case but age: a receiver that is not there is waited for.
 */
import type { SpanOutbox } from '../aggregation/span-outbox.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { OtlpSender } from './otlp-sender.ts';

/** Each commit waits for the disk: acknowledgements are written together, and a crash sends so many again at most. */
const SETTLED_AT_ONCE = 16;
/** How long the end of the process waits for the receiver. */
const CLOSE_LIMIT_MS = 4_000;

export interface SpanSenderOptions {
  readonly outbox: SpanOutbox;
  readonly sender: OtlpSender;
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
  const { outbox, sender, clock, events, maxAgeMs, onError } = options;
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
    /** A receiver that is waited for may be away for long. */
    const onWait = (waits: boolean): void => {
      isPutOff = waits;
      if (waits) settle();
    };
    try {
      for (let batch = outbox.next(); batch !== undefined; batch = outbox.next(batch.id)) {
        await sender.send(batch, { signal: stop.signal, maxAgeMs, onWait });
        acknowledged.push(batch.id);
        if (acknowledged.length >= SETTLED_AT_ONCE) settle();
      }
    } finally {
      settle();
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
    },
  };
}
