/**
 * Sends encoded spans until the receiver accepts or rejects them, and reports their fate. Both delivery spans and the
 * daemon's own spans are sent here.
 */
import type { SpanBatch } from '../aggregation/span-batch.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import type { OtlpPost } from './otlp-post.ts';
import { spanRequest } from './span-frames.ts';

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
/** Time after which failures are a condition. */
const LASTING_MS = 60_000;
const ACCEPTED = { kind: 'accepted', rejected: 0 } as const;

/** Encoded spans. `madeAt` is set if their age at the acknowledgment is measured. */
export type OtlpBatch = Pick<SpanBatch, 'protocol' | 'head' | 'body'> & Partial<Pick<SpanBatch, 'madeAt'>>;

interface SendOptions {
  /** Ends the sending. The fate of the spans is unknown then. */
  readonly signal: AbortSignal;
  /** Maximum age of spans in milliseconds. Older ones are dropped. */
  readonly maxAgeMs?: number;
  /** Called with true before a wait for the receiver, and with false after it. */
  readonly onWait?: (waits: boolean) => void;
}

/** Failure of all requests for some time. */
export interface ExportProblem {
  /** Host and port of the receiver. */
  readonly host: string;
  readonly cause: string;
}

export interface OtlpSender extends Disposable {
  /** Undefined if the receiver accepts spans, or fails only since a moment ago. */
  problem(): ExportProblem | undefined;
  /** Resolves when the receiver has accepted or rejected the spans. Rejects with the signal's reason. */
  send(batch: OtlpBatch, options: SendOptions): Promise<void>;
}

export function createOtlpSender(deps: {
  readonly post: OtlpPost;
  readonly clock: Clock;
  readonly events: EventBus;
}): OtlpSender {
  const { post, clock, events } = deps;
  /** End of the wait that the receiver requested for all batches, on the monotonic clock. */
  let heldUntil = 0;
  /** First failure since the last success, on the monotonic clock, and the last cause. */
  let failing: { readonly since: number; readonly cause: string } | undefined;
  return {
    problem() {
      if (failing === undefined || clock.monotonic() - failing.since < LASTING_MS) return undefined;
      return { host: post.host, cause: failing.cause };
    },
    async send(batch, { signal, maxAgeMs = Infinity, onWait }) {
      const pause = async (ms: number): Promise<void> => {
        onWait?.(true);
        await sleep(clock, ms, signal);
        onWait?.(false);
      };
      for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
        const heldMs = heldUntil - clock.monotonic();
        if (heldMs > 0) await pause(heldMs);
        const { body, spans, tooOld } = spanRequest(batch, clock.now() - maxAgeMs);
        const result = body === undefined ? ACCEPTED : await post.send(batch.protocol, body, signal);
        // A stop is no failure of the receiver.
        if (result.kind === 'later') signal.throwIfAborted();
        if (result.kind !== 'accepted') {
          failing = { since: failing?.since ?? clock.monotonic(), cause: result.cause };
        } else if (body !== undefined) failing = undefined;
        if (result.kind === 'later') {
          heldUntil = Math.max(heldUntil, clock.monotonic() + (result.afterMs ?? 0));
          await pause(Math.max(waitMs, result.afterMs ?? 0));
          continue;
        }
        const refused = result.kind === 'rejected' ? spans : Math.min(result.rejected, spans);
        if (spans > refused) {
          const { madeAt } = batch;
          const lag = madeAt === undefined ? {} : { lagMs: Math.max(0, clock.now() - madeAt) };
          events.emit({ type: 'spans.exported', count: spans - refused, ...lag });
        }
        if (refused > 0) events.emit({ type: 'spans.dropped', count: refused, reason: 'rejected' });
        if (tooOld > 0) events.emit({ type: 'spans.dropped', count: tooOld, reason: 'too_old' });
        return;
      }
    },
    [Symbol.dispose]: () => post[Symbol.dispose](),
  };
}
