/**
 * Durable storage of all changes. Changes are collected while the program works and are committed together when it
 * pauses, so that concurrent requests share one write to the disk. A caller that must not respond before its changes
 * are safe awaits `durable`. Failed writes stay collected and are part of the next commit.
 */
import type { DatabaseSync } from 'node:sqlite';
import { getOrAdd } from '#foundation/platform/get-or-add.ts';
import type { Fact } from '../statistics/facts.ts';
import type { AccountJournal, DeadLetterQueueName } from '../state/journal.ts';
import type { LogEntry } from '../state/log.ts';
import { writeFixed, writeOutcome, writeProgress } from '../state/message-record.ts';
import { type DeadMessage, isTerminal, type Message, type Outcome } from '../state/message.ts';
import { KEPT_MINUTES } from '../statistics/minute-ring.ts';
import { DAY_MS, MINUTE_MS } from '../statistics/point-time.ts';
import { openStoreFile, pathOfStore, unreadable, unwritten } from './store-file.ts';

/** A small document that is compared at each commit and written when it differs. */
export interface StoredDocument {
  readonly key: string;
  readonly read: () => unknown;
}

interface Change {
  readonly isNew: boolean;
  readonly due: number | undefined;
}

interface FactSum {
  readonly accountId: string;
  readonly minute: number;
  readonly kind: string;
  times: number;
  bytes: number;
}

export class Store {
  readonly db: DatabaseSync;
  /** Path of the file. */
  readonly path: string;
  readonly #onError: (error: unknown) => void;
  readonly #statements: Statements;
  #messages = new Map<Message, Change>();
  #entries: { readonly accountId: string; readonly entry: LogEntry }[] = [];
  #facts = new Map<string, FactSum>();
  /** Days since the epoch, by account, on which old facts were removed. */
  readonly #trimmedDays = new Map<string, number>();
  /** Other changes, oldest first. */
  #others: (() => void)[] = [];
  #documents: readonly StoredDocument[] = [];
  readonly #written = new Map<string, string>();
  #waiting: PromiseWithResolvers<void>[] = [];
  #scheduled = false;
  #isBehind = false;

  /** @throws {DataFolderError} when the folder is unusable */
  constructor(folder: string, onError: (error: unknown) => void) {
    this.path = pathOfStore(folder);
    this.db = openStoreFile(folder);
    this.#onError = onError;
    try {
      this.#statements = this.reading(() => prepare(this.db));
    } catch (error) {
      this.db.close();
      throw error;
    }
  }

  /** True if the last commit failed: its changes are still collected. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /**
   * Returns the result of `read`.
   *
   * @throws {DataFolderError} for any error that a damaged file causes
   */
  reading<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw unreadable(error, this.path);
    }
  }

  /** Sets the documents that each later commit compares. */
  watch(documents: readonly StoredDocument[]): void {
    this.#documents = documents;
  }

  /** Resolves when all changes so far are on disk; rejects when they could not be written. */
  durable(): Promise<void> {
    const waiter = Promise.withResolvers<void>();
    this.#waiting.push(waiter);
    this.#schedule();
    return waiter.promise;
  }

  journalOf(accountId: string, holds: (message: Message) => boolean): AccountJournal {
    const later = (work: () => void): void => {
      this.#others.push(work);
      this.#schedule();
    };
    const forget = (message: Message): void => {
      if (holds(message)) return;
      this.#statements.deleteMessage.run(accountId, message.id, accountId, message.id);
      const notice = message.failureNotice;
      if (notice !== undefined && isTerminal(notice.state) && !holds(notice)) {
        this.#statements.deleteMessage.run(accountId, notice.id, accountId, notice.id);
      }
    };
    return {
      logged: (entry) => this.#logged(accountId, entry),
      dropped: ({ sequence, state, message }) =>
        later(() => {
          this.#statements.deleteEntry.run(accountId, sequence);
          if (isTerminal(state)) forget(message);
        }),
      deadLetterAdded: (queue, deadLetter) => later(() => this.#insertDeadLetter(accountId, queue, deadLetter)),
      deadLetterRemoved: (queue, { sequence, message }) =>
        later(() => {
          this.#statements.deleteDeadLetter.run(accountId, queue, sequence);
          forget(message);
        }),
      put: (kind, key, value) => {
        const text = JSON.stringify(value);
        later(() => this.#statements.putItem.run(accountId, kind, key, text));
      },
      removed: (kind, key) => later(() => this.#statements.deleteItem.run(accountId, kind, key)),
    };
  }

  counted(accountId: string, fact: Fact, times: number): void {
    const minute = Math.floor(fact.at / MINUTE_MS);
    const bytes = 'bytes' in fact ? fact.bytes : 0;
    const kind = JSON.stringify({ ...fact, at: undefined, bytes: undefined });
    const key = `${accountId} ${minute} ${kind}`;
    const sum = getOrAdd(this.#facts, key, () => ({ accountId, minute, kind, times: 0, bytes: 0 }));
    sum.times += times;
    sum.bytes += bytes * times;
    this.#schedule();
  }

  /**
   * Writes the rest; nothing if no service used the store.
   *
   * @throws {DataFolderError} when the rest cannot be written, and is lost
   */
  close(): void {
    if (this.#documents.length > 0) this.#commit();
    this.db.close();
    if (this.#isBehind) throw unwritten(this.path);
  }

  #logged(accountId: string, entry: LogEntry): void {
    this.#entries.push({ accountId, entry });
    const { message, state, nextDeliveryTime: due } = entry;
    const isNew = state === 'CREATED' || (this.#messages.get(message)?.isNew ?? false);
    this.#messages.set(message, { isNew, due });
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    // Commits after the other requests and responses of the same turn.
    setImmediate(() => {
      if (this.db.isOpen) this.#commit();
    });
  }

  #commit(): void {
    this.#scheduled = false;
    const waiting = this.#waiting.splice(0);
    try {
      this.#write();
      this.#isBehind = false;
      for (const { resolve } of waiting) resolve();
    } catch (error) {
      if (this.db.isTransaction) this.db.exec('ROLLBACK');
      this.#isBehind = true;
      this.#onError(error);
      for (const { reject } of waiting) reject(error);
    }
  }

  #write(): void {
    const changed = this.#documents
      .map(({ key, read }) => ({ key, text: JSON.stringify(read()) }))
      .filter(({ key, text }) => this.#written.get(key) !== text);
    const nothing = this.#messages.size + this.#entries.length + this.#facts.size + this.#others.length === 0;
    if (nothing && changed.length === 0) return;
    const outcomes = new Map<Outcome, string>();
    const textOf = (outcome: Outcome | undefined): string | null => {
      if (outcome === undefined) return null;
      const known = outcomes.get(outcome);
      if (known !== undefined) return known;
      const text = writeOutcome(outcome);
      outcomes.set(outcome, text);
      return text;
    };
    const { insertMessage, updateMessage, insertEntry, addFact, putItem } = this.#statements;
    this.db.exec('BEGIN');
    for (const [message, { isNew, due }] of this.#messages) {
      const { accountId, id, lastOutcome, failureNotice } = message;
      const progress = writeProgress(message, due);
      const outcome = textOf(lastOutcome);
      const notice = failureNotice?.id ?? null;
      if (isNew)
        insertMessage.run(accountId, id, writeFixed(message), message.delivery.body, progress, outcome, notice);
      else updateMessage.run(progress, outcome, notice, accountId, id);
    }
    for (const { accountId, entry } of this.#entries) {
      const { sequence, time, state, message, nextDeliveryTime, outcome } = entry;
      insertEntry.run(accountId, sequence, time, state, message.id, nextDeliveryTime ?? null, textOf(outcome));
    }
    for (const fact of this.#facts.values()) {
      const { accountId, minute, kind, times, bytes } = fact;
      addFact.run(accountId, minute, kind, times, bytes);
      this.#forgetFacts(fact);
    }
    for (const work of this.#others) work();
    for (const { key, text } of changed) putItem.run('', 'document', key, text);
    this.db.exec('COMMIT');
    this.#messages = new Map();
    this.#entries = [];
    this.#facts = new Map();
    this.#others = [];
    for (const { key, text } of changed) this.#written.set(key, text);
  }

  /** Removes facts that statistics no longer show, once a day for each account. */
  #forgetFacts({ accountId, minute }: FactSum): void {
    const day = Math.floor((minute * MINUTE_MS) / DAY_MS);
    if ((this.#trimmedDays.get(accountId) ?? -Infinity) >= day) return;
    this.#statements.deleteFacts.run(accountId, minute - KEPT_MINUTES);
    this.#trimmedDays.set(accountId, day);
  }

  #insertDeadLetter(accountId: string, queue: DeadLetterQueueName, deadLetter: DeadMessage): void {
    const { sequence, dlqId, message, failedAt } = deadLetter;
    this.#statements.insertDeadLetter.run(accountId, queue, sequence, dlqId, message.id, failedAt);
  }
}

type Statements = ReturnType<typeof prepare>;

function prepare(db: DatabaseSync) {
  return {
    insertMessage: db.prepare('INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?, ?, ?, ?)'),
    updateMessage: db.prepare('UPDATE message SET progress = ?, outcome = ?, notice = ? WHERE account = ? AND id = ?'),
    // A message that reports the failure of another message is deleted together with it.
    deleteMessage: db.prepare(
      'DELETE FROM message WHERE account = ? AND id = ? AND NOT EXISTS (SELECT 1 FROM message WHERE account = ? AND notice = ?)',
    ),
    insertEntry: db.prepare('INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)'),
    deleteEntry: db.prepare('DELETE FROM entry WHERE account = ? AND sequence = ?'),
    insertDeadLetter: db.prepare('INSERT INTO dead_letter VALUES (?, ?, ?, ?, ?, ?)'),
    deleteDeadLetter: db.prepare('DELETE FROM dead_letter WHERE account = ? AND queue = ? AND sequence = ?'),
    addFact: db.prepare(
      'INSERT INTO fact VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET times = times + excluded.times, bytes = bytes + excluded.bytes',
    ),
    deleteFacts: db.prepare('DELETE FROM fact WHERE account = ? AND minute <= ?'),
    putItem: db.prepare('INSERT OR REPLACE INTO item VALUES (?, ?, ?, ?)'),
    deleteItem: db.prepare('DELETE FROM item WHERE account = ? AND kind = ? AND key = ?'),
  };
}
