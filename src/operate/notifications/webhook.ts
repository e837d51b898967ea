/**
 * Notifications as JSON to a webhook: one POST for each change of a condition, in order, retried until it is accepted.
 * Delivery is at least once: a repeat has the same `id`.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { HttpPost } from '#foundation/platform/http-post.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import { Bell } from './bell.ts';
import type { NotificationBook } from './notification-book.ts';
import type { KeptNotification } from './notification-store.ts';
import { deliver, type Receiver } from './receiver.ts';

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 300_000;
const IDLE_MS = 3_600_000;
/** Time after which a notification is tried again that waits for its account or for the store. */
const HELD_MS = 5_000;
/** Maximum age of a notification: older ones would only confuse. */
const MAX_AGE_MS = 86_400_000;

export interface SenderOptions {
  readonly receiver: Receiver;
  readonly book: NotificationBook;
  readonly post: HttpPost;
  readonly clock: Clock;
  readonly events: EventBus;
  readonly signal: AbortSignal;
  /** Rung when the book has changed. */
  readonly bell: Bell;
}

/** Sends until the signal aborts, and rejects with its reason. */
export async function sendToWebhook(options: SenderOptions): Promise<never> {
  const { receiver, book, clock, events, signal, bell } = options;
  let waitMs = FIRST_WAIT_MS;
  for (;;) {
    const queued = book.next(receiver.name);
    if (queued === undefined) {
      await bell.wait(book.hasQueued(receiver.name) ? HELD_MS : IDLE_MS, signal);
      continue;
    }
    const isTooOld = clock.now() - queued.kept.notification.at > MAX_AGE_MS;
    const result = isTooOld ? undefined : await deliver(receiver, webhookMessage(queued.kept), options);
    if (result?.kind === 'later') {
      // Not ended by the bell: a failed delivery is not retried sooner because of new notifications.
      await sleep(clock, Math.max(waitMs, result.afterMs ?? 0), signal);
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
      continue;
    }
    waitMs = FIRST_WAIT_MS;
    if (result?.kind !== 'sent') {
      const reason = isTooOld ? 'too_old' : 'rejected';
      events.emit({ type: 'notification.dropped', receiver: receiver.name, reason, count: 1 });
    }
    book.settle(queued);
  }
}

/** Message format, documented and stable. Chat systems show `text`. */
export function webhookMessage({
  notification,
  startedAt,
  endedAt,
}: KeptNotification): Readonly<Record<string, unknown>> {
  const { at, isResolved, ...said } = notification;
  const status = isResolved ? 'resolved' : 'firing';
  return {
    version: 1,
    id: `${notification.key}/${at}/${status}`,
    status,
    ...said,
    startedAt: new Date(startedAt).toISOString(),
    ...(endedAt !== undefined && { endedAt: new Date(endedAt).toISOString() }),
    text: `[${isResolved ? 'resolved' : notification.severity}] ${notification.summary}`,
  };
}
