/**
 * Changes of conditions that the store could not take before their generation ended, for the next generation of the
 * process. Otherwise, a condition that was reported while the store was unavailable would never be resolved.
 */
import type {
  KeptNotification,
  NotificationChanges,
  NotificationStore,
  StoredNotifications,
} from './notification-store.ts';
import type { NotifyingReplica } from './replica.ts';

export class UnsavedNotifications {
  #changes: NotificationChanges | undefined;
  #end: Promise<void> = Promise.resolve();

  /** Sets the end of a generation: its last write, which may outlast its teardown. */
  endsWith(end: Promise<void>): void {
    this.#end = end.catch(() => undefined);
  }

  /** Loads after the last write of the earlier generation: the next one would never send what it does not load. */
  async load(store: Pick<NotificationStore, 'load'>): Promise<StoredNotifications> {
    await this.#end;
    return await store.load();
  }

  /**
   * Keeps changes in place of earlier ones. With replicas, other conditions may have another owner by then.
   *
   * @returns a function that drops them again
   */
  keep({ kept, removed, queued, settled }: NotificationChanges, replica: NotifyingReplica | undefined): () => void {
    const isOwn = ({ notification }: KeptNotification): boolean =>
      replica === undefined || notification.replica === replica.name;
    const changes: NotificationChanges = {
      kept: kept.filter(isOwn),
      removed: removed.filter(isOwn),
      queued: queued.filter(({ kept: one }) => isOwn(one)),
      settled: settled.filter(({ kept: one }) => isOwn(one)),
    };
    this.#changes = changes;
    return () => {
      if (this.#changes === changes) this.#changes = undefined;
    };
  }

  take(): NotificationChanges | undefined {
    const changes = this.#changes;
    this.#changes = undefined;
    return changes;
  }
}
