/** Changes of conditions and of queued notifications that the store does not have, or not yet. */
import type { KeptNotification, NotificationChanges, QueuedNotification } from './notification-store.ts';

type Conditions = ReadonlyMap<string, KeptNotification>;
type Queue = ReadonlyMap<QueuedNotification, 'queued' | 'settled'>;

export class Unwritten {
  readonly #present: Conditions;
  #conditions = new Map<string, KeptNotification>();
  #queue = new Map<QueuedNotification, 'queued' | 'settled'>();
  /** Changes of the write in progress. */
  #writing: { readonly conditions: Conditions; readonly queue: Queue } = { conditions: new Map(), queue: new Map() };

  /** @param present conditions by key, as they are now */
  constructor(present: Conditions) {
    this.#present = present;
  }

  /** @param last content of the condition, which may be removed now */
  note(key: string, last: KeptNotification): void {
    this.#conditions.set(key, last);
  }

  noteQueued(queued: QueuedNotification, state: 'queued' | 'settled'): void {
    this.#queue.set(queued, state);
  }

  /** Begins a write of all changes. @returns undefined if there are none */
  begin(): NotificationChanges | undefined {
    this.#writing = { conditions: this.#conditions, queue: this.#queue };
    this.#conditions = new Map();
    this.#queue = new Map();
    const { conditions, queue } = this.#writing;
    return conditions.size + queue.size === 0 ? undefined : this.#changesOf(conditions, queue);
  }

  end(isWritten: boolean): void {
    if (!isWritten) {
      // Changes during the write are newer.
      this.#conditions = new Map([...this.#writing.conditions, ...this.#conditions]);
      this.#queue = new Map([...this.#writing.queue, ...this.#queue]);
    }
    this.#writing = { conditions: new Map(), queue: new Map() };
  }

  /** Returns false if the store certainly has this change of the queue. */
  has(queued: QueuedNotification): boolean {
    return this.#queue.has(queued) || this.#writing.queue.has(queued);
  }

  all(): NotificationChanges {
    const { conditions, queue } = this.#writing;
    return this.#changesOf(new Map([...conditions, ...this.#conditions]), new Map([...queue, ...this.#queue]));
  }

  #changesOf(conditions: Conditions, queue: Queue): NotificationChanges {
    const present = [...conditions.keys()].map((key) => this.#present.get(key));
    const ofState = (state: string) => [...queue.keys()].filter((one) => queue.get(one) === state);
    return {
      kept: present.filter((kept) => kept !== undefined),
      removed: [...conditions.values()].filter((_kept, index) => present[index] === undefined),
      queued: ofState('queued'),
      settled: ofState('settled'),
    };
  }
}
