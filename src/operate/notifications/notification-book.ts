/**
 * What stands and what waits to be sent, in memory; the store follows a turn later, so that whoever tells of a condition
 * is never kept, and what was told is sent even when the store cannot be written.
 */
import {
  NOTIFICATION_SEVERITIES,
  type Notification,
  type NotificationSeverity,
} from '#foundation/domain/notification.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { KeptNotification, NotificationStore, QueuedNotification } from './notification-store.ts';

/** Conditions kept at the same time, and notifications that wait for one receiver. */
const MOST_CONDITIONS = 1_000;
const MOST_WAITING = 1_000;

export interface NotificationBookOptions {
  readonly store: NotificationStore;
  readonly events: EventBus;
  /** The webhook that is told of a notification; undefined: none. */
  receiverOf(notification: Notification): string | undefined;
  /** Whether ends are kept until `forget`. */
  readonly keepsEnded: boolean;
  /** How long a condition of severity `info` lasts before it is told, milliseconds. */
  readonly infoAfterMs: number;
}

export class NotificationBook {
  readonly #options: NotificationBookOptions;
  readonly #notifications = new Map<string, KeptNotification>();
  /** By receiver, oldest first. */
  readonly #queues = new Map<string, QueuedNotification[]>();
  readonly #changedNotifications = new Set<string>();
  readonly #changedQueue = new Map<number, QueuedNotification | undefined>();
  readonly #listeners = new Set<() => void>();
  #nextId = 1;
  #saving: NodeJS.Immediate | undefined;
  #isNews = false;

  /** @param receivers all there are: what waits for others is lost, and said to be */
  constructor(options: NotificationBookOptions, receivers: readonly string[]) {
    this.#options = options;
    for (const receiver of receivers) this.#queues.set(receiver, []);
    const { notifications, queue } = options.store.load();
    for (const kept of notifications) {
      if (kept.endedAt === undefined || options.keepsEnded) this.#notifications.set(kept.notification.key, kept);
      else this.#changedNotifications.add(kept.notification.key);
    }
    for (const queued of queue) {
      this.#nextId = Math.max(this.#nextId, queued.id + 1);
      const waiting = this.#queues.get(queued.receiver);
      if (waiting !== undefined) waiting.push(queued);
      else {
        this.#changedQueue.set(queued.id, undefined);
        this.#lost(queued.receiver, 'no_receiver');
      }
    }
    this.#tell();
    for (const receiver of receivers) this.#tellWaiting(receiver);
    this.#saveLater();
  }

  /** Called a turn after a condition began, changed or ended. */
  onNews(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Tells of those that have lasted long enough by now. @returns when to ask again, epoch milliseconds; Infinity: never */
  tellDue(now: number): number {
    let next = Infinity;
    for (const kept of this.#notifications.values()) {
      if (kept.isUntold === undefined) continue;
      const dueAt = kept.startedAt + this.#options.infoAfterMs;
      if (dueAt > now) next = Math.min(next, dueAt);
      else this.#queue(this.#told(kept));
    }
    return next;
  }

  /** Those that stand, and ends that nobody has forgotten. */
  kept(): readonly KeptNotification[] {
    return [...this.#notifications.values()];
  }

  hear(notification: Notification): void {
    const known = this.#notifications.get(notification.key);
    const isActive = known !== undefined && known.endedAt === undefined;
    if (notification.isResolved) {
      if (!isActive) return;
      if (known.isUntold !== undefined) {
        this.#put(notification.key, undefined);
        this.#news();
        return;
      }
      // Texts of the end may be shorter; who and what it concerned stays.
      const ended = {
        notification: { ...known.notification, ...notification },
        startedAt: known.startedAt,
        endedAt: notification.at,
      };
      this.#put(notification.key, this.#options.keepsEnded ? ended : undefined);
      this.#queue(ended);
    } else if (!isActive) {
      if (known === undefined && this.#notifications.size >= MOST_CONDITIONS) {
        this.#lost('all', 'full');
        return;
      }
      const mayWait = notification.severity === 'info' && this.#options.infoAfterMs > 0;
      const begun: KeptNotification = { notification, startedAt: notification.at, ...(mayWait && { isUntold: true }) };
      this.#put(notification.key, begun);
      if (!mayWait) this.#queue(begun);
    } else {
      if (isSameText(known.notification, notification)) return;
      const later = { ...known, notification };
      const isWorse = rank(notification.severity) > rank(known.notification.severity);
      if (isWorse) this.#queue(this.#told(later));
      else this.#put(notification.key, later);
    }
    this.#news();
  }

  /** Forgets an end, unless the condition has begun again meanwhile. */
  forget(kept: KeptNotification): void {
    if (this.#notifications.get(kept.notification.key) !== kept) return;
    this.#put(kept.notification.key, undefined);
    this.#saveLater();
  }

  next(receiver: string): QueuedNotification | undefined {
    return this.#queues.get(receiver)?.[0];
  }

  /** It was delivered, or never will be. */
  settle({ id, receiver }: QueuedNotification): void {
    const waiting = this.#queues.get(receiver) ?? [];
    const at = waiting.findIndex((queued) => queued.id === id);
    if (at >= 0) waiting.splice(at, 1);
    this.#changedQueue.set(id, undefined);
    this.#tellWaiting(receiver);
    this.#saveLater();
  }

  /** Writes what has changed now. */
  save(): void {
    clearImmediate(this.#saving);
    this.#saving = undefined;
    const notifications = new Map([...this.#changedNotifications].map((key) => [key, this.#notifications.get(key)]));
    const queue = new Map(this.#changedQueue);
    if (notifications.size + queue.size === 0) return;
    try {
      this.#options.store.save({ notifications, queue });
      this.#changedNotifications.clear();
      this.#changedQueue.clear();
    } catch (error) {
      // It is tried again with the next change.
      const message = errorMessage(error);
      this.#options.events.emit({ type: 'store.failed', operation: 'save of notifications', message });
    }
  }

  #told({ isUntold: _untold, ...kept }: KeptNotification): KeptNotification {
    this.#put(kept.notification.key, kept);
    this.#news();
    return kept;
  }

  #news(): void {
    this.#tell();
    this.#isNews = true;
    this.#saveLater();
  }

  #put(key: string, kept: KeptNotification | undefined): void {
    if (kept === undefined) this.#notifications.delete(key);
    else this.#notifications.set(key, kept);
    this.#changedNotifications.add(key);
  }

  #queue(kept: KeptNotification): void {
    const receiver = this.#options.receiverOf(kept.notification);
    const waiting = receiver === undefined ? undefined : this.#queues.get(receiver);
    if (receiver === undefined || waiting === undefined) return;
    if (waiting.length >= MOST_WAITING) {
      // The oldest one is the least news.
      this.#changedQueue.set(waiting.shift()!.id, undefined);
      this.#lost(receiver, 'full');
    }
    const queued = { id: this.#nextId++, receiver, kept };
    waiting.push(queued);
    this.#changedQueue.set(queued.id, queued);
    this.#tellWaiting(receiver);
  }

  /** Not while an event is told: whoever tells may be in the middle of a transaction. */
  #saveLater(): void {
    this.#saving ??= setImmediate(() => {
      this.save();
      if (this.#isNews) for (const listener of this.#listeners) listener();
      this.#isNews = false;
    });
  }

  #lost(receiver: string, reason: 'full' | 'no_receiver'): void {
    this.#options.events.emit({ type: 'notification.dropped', receiver, reason, count: 1 });
  }

  #tell(): void {
    const bySeverity: Record<NotificationSeverity, number> = { info: 0, warning: 0, critical: 0 };
    for (const { notification, endedAt } of this.#notifications.values())
      if (endedAt === undefined) bySeverity[notification.severity]++;
    this.#options.events.emit({ type: 'conditions.active', bySeverity });
  }

  #tellWaiting(receiver: string): void {
    const count = this.#queues.get(receiver)?.length ?? 0;
    this.#options.events.emit({ type: 'notifications.waiting', receiver, count });
  }
}

function rank(severity: NotificationSeverity): number {
  return NOTIFICATION_SEVERITIES.indexOf(severity);
}

function isSameText(one: Notification, other: Notification): boolean {
  return one.summary === other.summary && one.detail === other.detail && one.severity === other.severity;
}
