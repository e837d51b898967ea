/**
 * What stands and what waits to be sent, in memory; the store follows a turn later, so that whoever tells of a condition
 * is never kept, and what was told is sent even when the store cannot be written.
 */
import { NOTICE_SEVERITIES, type Notice, type NoticeSeverity } from '#foundation/domain/notice.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { KeptNotice, NoticeStore, QueuedNotice } from './notice-store.ts';

/** Conditions kept at the same time, and notifications that wait for one receiver. */
const MOST_NOTICES = 1_000;
const MOST_WAITING = 1_000;

export interface NoticeBookOptions {
  readonly store: NoticeStore;
  readonly events: EventBus;
  /** The webhook that is told of a notice; undefined: none. */
  receiverOf(notice: Notice): string | undefined;
  /** Whether ends are kept until `forget`. */
  readonly keepsEnded: boolean;
  /** How long a condition of severity `info` lasts before it is told, milliseconds. */
  readonly infoAfterMs: number;
}

export class NoticeBook {
  readonly #options: NoticeBookOptions;
  readonly #notices = new Map<string, KeptNotice>();
  /** By receiver, oldest first. */
  readonly #queues = new Map<string, QueuedNotice[]>();
  readonly #changedNotices = new Set<string>();
  readonly #changedQueue = new Map<number, QueuedNotice | undefined>();
  readonly #listeners = new Set<() => void>();
  #nextId = 1;
  #saving: NodeJS.Immediate | undefined;
  #isNews = false;

  /** @param receivers all there are: what waits for others is lost, and said to be */
  constructor(options: NoticeBookOptions, receivers: readonly string[]) {
    this.#options = options;
    for (const receiver of receivers) this.#queues.set(receiver, []);
    const { notices, queue } = options.store.load();
    for (const kept of notices) {
      if (kept.endedAt === undefined || options.keepsEnded) this.#notices.set(kept.notice.key, kept);
      else this.#changedNotices.add(kept.notice.key);
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
    for (const kept of this.#notices.values()) {
      if (kept.isUntold === undefined) continue;
      const dueAt = kept.startedAt + this.#options.infoAfterMs;
      if (dueAt > now) next = Math.min(next, dueAt);
      else this.#queue(this.#told(kept));
    }
    return next;
  }

  /** Those that stand, and ends that nobody has forgotten. */
  kept(): readonly KeptNotice[] {
    return [...this.#notices.values()];
  }

  hear(notice: Notice): void {
    const known = this.#notices.get(notice.key);
    const isStanding = known !== undefined && known.endedAt === undefined;
    if (notice.isResolved) {
      if (!isStanding) return;
      if (known.isUntold !== undefined) {
        this.#put(notice.key, undefined);
        this.#news();
        return;
      }
      // Texts of the end may be shorter; who and what it concerned stays.
      const ended = { notice: { ...known.notice, ...notice }, startedAt: known.startedAt, endedAt: notice.at };
      this.#put(notice.key, this.#options.keepsEnded ? ended : undefined);
      this.#queue(ended);
    } else if (!isStanding) {
      if (known === undefined && this.#notices.size >= MOST_NOTICES) {
        this.#lost('all', 'full');
        return;
      }
      const mayWait = notice.severity === 'info' && this.#options.infoAfterMs > 0;
      const begun: KeptNotice = { notice, startedAt: notice.at, ...(mayWait && { isUntold: true }) };
      this.#put(notice.key, begun);
      if (!mayWait) this.#queue(begun);
    } else {
      if (isSameText(known.notice, notice)) return;
      const later = { ...known, notice };
      const isWorse = rank(notice.severity) > rank(known.notice.severity);
      if (isWorse) this.#queue(this.#told(later));
      else this.#put(notice.key, later);
    }
    this.#news();
  }

  /** Forgets an end, unless the condition has begun again meanwhile. */
  forget(kept: KeptNotice): void {
    if (this.#notices.get(kept.notice.key) !== kept) return;
    this.#put(kept.notice.key, undefined);
    this.#saveLater();
  }

  next(receiver: string): QueuedNotice | undefined {
    return this.#queues.get(receiver)?.[0];
  }

  /** It was delivered, or never will be. */
  settle({ id, receiver }: QueuedNotice): void {
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
    const notices = new Map([...this.#changedNotices].map((key) => [key, this.#notices.get(key)]));
    const queue = new Map(this.#changedQueue);
    if (notices.size + queue.size === 0) return;
    try {
      this.#options.store.save({ notices, queue });
      this.#changedNotices.clear();
      this.#changedQueue.clear();
    } catch (error) {
      // It is tried again with the next change.
      const message = errorMessage(error);
      this.#options.events.emit({ type: 'store.failed', operation: 'save of notices', message });
    }
  }

  #told({ isUntold: _untold, ...kept }: KeptNotice): KeptNotice {
    this.#put(kept.notice.key, kept);
    this.#news();
    return kept;
  }

  #news(): void {
    this.#tell();
    this.#isNews = true;
    this.#saveLater();
  }

  #put(key: string, kept: KeptNotice | undefined): void {
    if (kept === undefined) this.#notices.delete(key);
    else this.#notices.set(key, kept);
    this.#changedNotices.add(key);
  }

  #queue(kept: KeptNotice): void {
    const receiver = this.#options.receiverOf(kept.notice);
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
    const bySeverity: Record<NoticeSeverity, number> = { info: 0, warning: 0, critical: 0 };
    for (const { notice, endedAt } of this.#notices.values()) if (endedAt === undefined) bySeverity[notice.severity]++;
    this.#options.events.emit({ type: 'notices.standing', bySeverity });
  }

  #tellWaiting(receiver: string): void {
    const count = this.#queues.get(receiver)?.length ?? 0;
    this.#options.events.emit({ type: 'notifications.waiting', receiver, count });
  }
}

function rank(severity: NoticeSeverity): number {
  return NOTICE_SEVERITIES.indexOf(severity);
}

function isSameText(one: Notice, other: Notice): boolean {
  return one.summary === other.summary && one.detail === other.detail && one.severity === other.severity;
}
