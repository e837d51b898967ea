/**
 * Active conditions and queued notifications, in memory. The store follows one turn later, so that events are never
 * delayed. Notifications are sent even if the store cannot be written. With replicas, only that of the store is.
 */
import { randomUUID } from 'node:crypto';
import type { Notification } from '#foundation/domain/notification.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { reportStoreFailure } from '#foundation/events/store-failure.ts';
import { OneByOne } from '#foundation/platform/one-by-one.ts';
import { countActive, isSameText, isWorse } from './compared.ts';
import type {
  KeptNotification,
  NotificationChanges,
  NotificationStore,
  QueuedNotification,
  StoredNotifications,
} from './notification-store.ts';
import { Unwritten } from './unwritten.ts';
import { endOf, isOfStore, isWill, willOf } from './will.ts';

/** Maximum number of conditions, and of queued notifications for each receiver. */
const MOST_CONDITIONS = 1_000;
const MOST_WAITING = 1_000;

export interface NotificationBookOptions {
  readonly store: Pick<NotificationStore, 'save'>;
  /** Content of the store. */
  readonly stored: StoredNotifications;
  /** Changes of an earlier book that are not in the store. */
  readonly unsaved?: NotificationChanges | undefined;
  /** All receivers. Notifications queued for others are dropped, with an event. */
  readonly receivers: readonly string[];
  readonly events: EventBus;
  /** Webhook for a notification; undefined: none. */
  receiverOf(notification: Notification): string | undefined;
  /** True keeps resolved conditions until `forget`. */
  readonly keepsEnded: boolean;
  /**
   * Returns true if this replica owns the account now. Another one may own it next: it sends what is in the store, and can
   * only resolve conditions that were saved. Absent if there are no replicas.
   */
  readonly owns?: ((account: string) => boolean) | undefined;
  /** Milliseconds that a condition of severity `info` lasts before its notification. */
  readonly infoAfterMs: number;
  /** Stored end of a condition that this process may notify without saving it. */
  readonly will?: Notification | undefined;
  /** Epoch milliseconds. */
  readonly now: number;
}

export class NotificationBook {
  readonly #options: NotificationBookOptions;
  readonly #notifications = new Map<string, KeptNotification>();
  /** By receiver, oldest first. */
  readonly #queues = new Map<string, QueuedNotification[]>();
  readonly #unwritten = new Unwritten(this.#notifications);
  readonly #listeners = new Set<() => void>();
  readonly #writeListeners = new Set<(hasFailed: boolean) => void>();
  #saving: NodeJS.Immediate | undefined;
  readonly #writes = new OneByOne();
  readonly #will: QueuedNotification | undefined;
  #hasFailed = false;
  #isNews = false;

  constructor(options: NotificationBookOptions) {
    this.#options = options;
    const { receivers, stored, unsaved, will, now } = options;
    for (const receiver of receivers) this.#queues.set(receiver, []);
    this.#take(stored, now);
    if (unsaved !== undefined) this.#takeUnsaved(unsaved);
    const receiver = will && options.receiverOf(will);
    if (receiver !== undefined) this.#will = willOf(will!, receiver);
    this.#storeWill();
    this.#tell();
    for (const receiver of receivers) this.#tellWaiting(receiver);
    this.#saveLater();
  }

  #take({ notifications, queue }: StoredNotifications, now: number): void {
    for (const kept of notifications) {
      const { key } = kept.notification;
      if (kept.endedAt === undefined || this.#options.keepsEnded) this.#notifications.set(key, kept);
      else this.#unwritten.note(key, kept);
    }
    for (const stored of queue) {
      const queued = isWill(stored) ? endOf(stored, now) : stored;
      const waiting = this.#queues.get(queued.receiver);
      // An active condition ends by itself.
      if (isWill(stored) && this.#notifications.has(queued.kept.notification.key)) {
        this.#unwritten.noteQueued(queued, 'settled');
      } else if (waiting !== undefined) waiting.push(queued);
      else {
        this.#unwritten.noteQueued(queued, 'settled');
        this.#lost(queued.receiver, 'no_receiver');
      }
    }
  }

  #takeUnsaved({ kept, removed, queued, settled }: NotificationChanges): void {
    for (const { notification } of removed) this.#put(notification.key, undefined);
    for (const one of kept) {
      const isKept = one.endedAt === undefined || this.#options.keepsEnded;
      this.#put(one.notification.key, isKept ? one : undefined);
    }
    for (const { id, receiver } of settled) {
      const stored = this.#queues.get(receiver)?.find((one) => one.id === id);
      if (stored !== undefined) this.settle(stored);
    }
    for (const one of queued) {
      const waiting = this.#queues.get(one.receiver);
      if (waiting?.every(({ id }) => id !== one.id) !== true) continue;
      waiting.push(one);
      this.#unwritten.noteQueued(one, 'queued');
    }
  }

  #storeWill(): void {
    if (this.#will === undefined) return;
    this.#unwritten.noteQueued(this.#will, 'queued');
    this.#saveLater();
  }

  /** The process stops. The next change that is saved removes its will. */
  withdrawWill(): void {
    if (this.#will !== undefined) this.#unwritten.noteQueued(this.#will, 'settled');
  }

  /** Resolves conditions of replicas that do not run any more, and sends their notifications. */
  adopt({ notifications, queue }: StoredNotifications, at: number): void {
    const isKnown = ({ id, receiver }: QueuedNotification): boolean =>
      this.#queues.get(receiver)?.some((queued) => queued.id === id) === true;
    const added = notifications.filter(({ notification }) => !this.#notifications.has(notification.key));
    this.#take({ notifications: added, queue: queue.filter((queued) => !isKnown(queued)) }, at);
    for (const kept of added) {
      const { notification, endedAt } = kept;
      const detail = `replica ${notification.replica ?? ''} does not run any more`;
      if (endedAt === undefined) this.#end(kept, { ...notification, detail, at, isResolved: true }, true);
    }
    for (const receiver of this.#queues.keys()) this.#tellWaiting(receiver);
    this.#news();
  }

  /** Registers a listener that is called one turn after a condition became active, changed or was resolved. */
  onNews(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Registers a listener that is called after each write. It gets true if the write failed. */
  onWrite(listener: (hasFailed: boolean) => void): void {
    this.#writeListeners.add(listener);
  }

  /**
   * Sends notifications of conditions that have now lasted long enough. @returns the time of the next call, in epoch
   * milliseconds; Infinity: never
   */
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

  /** Active conditions, and resolved ones that are not forgotten. */
  kept(): readonly KeptNotification[] {
    return [...this.#notifications.values()];
  }

  hear(notification: Notification): void {
    const known = this.#notifications.get(notification.key);
    const isActive = known !== undefined && known.endedAt === undefined;
    if (notification.isResolved) {
      if (!isActive) return;
      this.#end(known, notification);
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
      if (isWorse(notification, known.notification)) this.#queue(this.#told(later));
      else this.#put(notification.key, later);
    }
    this.#news();
  }

  #end(known: KeptNotification, notification: Notification, isAdopted = false): void {
    if (notification.isSnoozed === true) this.#withdraw(known);
    if (known.isUntold !== undefined || notification.isSnoozed === true) {
      this.#put(notification.key, undefined);
      return;
    }
    // The resolved notification may have shorter texts; its owner and subject stay.
    const ended: KeptNotification = {
      notification: { ...known.notification, ...notification },
      startedAt: known.startedAt,
      endedAt: notification.at,
      ...(isAdopted && { isAdopted }),
    };
    this.#put(notification.key, ended);
    if (!this.#options.keepsEnded) this.#put(notification.key, undefined);
    this.#queue(ended);
  }

  /** Removes the notifications of a condition that are not delivered yet. */
  #withdraw({ notification: { key }, startedAt }: KeptNotification): void {
    for (const queued of [...this.#queues.values()].flat()) {
      if (queued.kept.notification.key === key && queued.kept.startedAt === startedAt) this.settle(queued);
    }
  }

  /** Forgets a resolved condition, unless it is active again. */
  forget(kept: KeptNotification): void {
    if (this.#notifications.get(kept.notification.key) !== kept) return;
    this.#put(kept.notification.key, undefined);
    this.#saveLater();
  }

  /** Returns the oldest notification; if it waits for a write that failed, the oldest one that may be sent. */
  next(receiver: string): QueuedNotification | undefined {
    const { owns } = this.#options;
    const queued = this.#queues.get(receiver) ?? [];
    if (owns === undefined) return queued[0];
    const accountOf = ({ kept }: QueuedNotification): string | undefined => kept.notification.account;
    const own = queued.filter((one) => accountOf(one) === undefined || owns(accountOf(one)!));
    const waiting = this.#hasFailed ? own : own.slice(0, 1);
    return waiting.find((one) => isOfStore(one) || !this.#unwritten.has(one));
  }

  hasQueued(receiver: string): boolean {
    return (this.#queues.get(receiver)?.length ?? 0) > 0;
  }

  /** Removes a notification that was delivered or never will be. */
  settle(queued: QueuedNotification): void {
    const waiting = this.#queues.get(queued.receiver) ?? [];
    const at = waiting.indexOf(queued);
    if (at >= 0) waiting.splice(at, 1);
    this.#unwritten.noteQueued(queued, 'settled');
    this.#tellWaiting(queued.receiver);
    this.#saveLater();
  }

  /** Writes the changes now, after a write in progress. Never rejects. @returns true if the store has all of them */
  save(): Promise<boolean> {
    clearImmediate(this.#saving);
    this.#saving = undefined;
    return this.#writes.run(() => this.#write());
  }

  async #write(): Promise<boolean> {
    const changes = this.#unwritten.begin();
    if (changes === undefined) return true;
    let isWritten = false;
    try {
      await this.#options.store.save(changes);
      isWritten = true;
    } catch (error) {
      reportStoreFailure(this.#options.events, 'save notifications', error);
    }
    this.#unwritten.end(isWritten);
    // Another replica may have taken this one for stopped, and sent its will.
    if (this.#hasFailed && isWritten) this.#storeWill();
    this.#hasFailed = !isWritten;
    for (const listener of this.#writeListeners) listener(!isWritten);
    return isWritten;
  }

  /** Changes that the store does not have, or not yet. */
  unsaved(): NotificationChanges {
    return this.#unwritten.all();
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
    const last = kept ?? this.#notifications.get(key);
    if (last !== undefined) this.#unwritten.note(key, last);
    if (kept === undefined) this.#notifications.delete(key);
    else this.#notifications.set(key, kept);
  }

  #queue(kept: KeptNotification): void {
    const receiver = this.#options.receiverOf(kept.notification);
    const waiting = receiver === undefined ? undefined : this.#queues.get(receiver);
    if (receiver === undefined || waiting === undefined) return;
    if (waiting.length >= MOST_WAITING) {
      // The oldest notification is the least relevant.
      this.#unwritten.noteQueued(waiting.shift()!, 'settled');
      this.#lost(receiver, 'full');
    }
    const queued = { id: randomUUID(), receiver, kept };
    waiting.push(queued);
    this.#unwritten.noteQueued(queued, 'queued');
    this.#tellWaiting(receiver);
  }

  /** Delayed by one turn, so that changes of the same turn are one write. Receivers do not wait for the store. */
  #saveLater(): void {
    this.#saving ??= setImmediate(() => {
      void this.save();
      if (this.#isNews) for (const listener of this.#listeners) listener();
      this.#isNews = false;
    });
  }

  #lost(receiver: string, reason: 'full' | 'no_receiver'): void {
    this.#options.events.emit({ type: 'notification.dropped', receiver, reason, count: 1 });
  }

  #tell(): void {
    this.#options.events.emit({ type: 'conditions.active', bySeverity: countActive(this.#notifications.values()) });
  }

  #tellWaiting(receiver: string): void {
    const count = this.#queues.get(receiver)?.length ?? 0;
    this.#options.events.emit({ type: 'notifications.queued', receiver, count });
  }
}
