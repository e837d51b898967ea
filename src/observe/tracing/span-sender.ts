/**
 * Sends the batches of the outbox, oldest first and one at a time. A batch leaves the outbox when the receiver has
 * acknowledged or permanently rejected it, or when it is too old. An unavailable receiver is awaited.
 */
import type { SpanOutbox } from '../aggregation/span-outbox.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { OtlpSender } from './otlp-sender.ts';

/**
 * Number of acknowledgments written together, because each commit waits for the disk. A crash sends at most this many
 * batches again.
 */
const SETTLED_AT_ONCE = 16;
/** Maximum time that the end of the process waits for the receiver. */
const CLOSE_LIMIT_MS = 4_000;

export interface SpanSenderOptions {
  readonly outbox: SpanOutbox;
  readonly sender: OtlpSender;
  readonly clock: Clock;
  readonly events: EventBus;
  /** Maximum age of spans in milliseconds. Older ones are omitted. */
  readonly maxAgeMs: number;
  /** Called for an error that the receiver did not cause, such as one of the store. */
  readonly onError: (message: string) => void;
}

export interface SpanSender extends AsyncDisposable {
  /** Resolves when the outbox is empty. Rejects with the signal's reason. */
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
    // Yields first, so that a commit is not delayed.
    await Promise.resolve();
    try {
      // A batch that is stored during the last check restarts a run that is about to end.
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
    events.emit({ type: 'spans.queued', ...outbox.queued() });
  }

  async function drain(): Promise<void> {
    const acknowledged: number[] = [];
    const settle = async (): Promise<void> => {
      if (acknowledged.length > 0) await outbox.settle(acknowledged.splice(0));
      tellWaiting();
    };
    /** Acknowledgments are written before a wait, because the receiver may be unavailable for long. */
    let settled = Promise.resolve();
    const onWait = (waits: boolean): void => {
      isPutOff = waits;
      if (!waits) return;
      settled = settled.then(settle);
      // The failure surfaces when this promise is awaited.
      settled.catch(() => undefined);
    };
    try {
      for (let batch = await outbox.next(); batch !== undefined; batch = await outbox.next(batch.id)) {
        await sender.send(batch, { signal: stop.signal, maxAgeMs, onWait });
        await settled;
        acknowledged.push(batch.id);
        if (acknowledged.length >= SETTLED_AT_ONCE) await settle();
      }
    } finally {
      await settled.catch(() => undefined);
      await settle();
    }
  }

  const subscription = outbox.onStored(start);
  // Sends batches of an earlier process.
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
    /**
     * Ends the sender. A responding receiver gets the remaining batches; an unresponsive one is not awaited. Unsent
     * batches stay in the store.
     */
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
