/**
 * Accounts of the other replicas, read from their views. Only changed views are read, and of these only new slices. A
 * view stays after its owner is gone, and its readings age.
 */
import type { Batch } from '#foundation/domain/observation.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { ListName, ReadView, ViewDocument } from './account-view.ts';
import { unpackedDocument, unpackedRows } from './documents.ts';
import { RemoteAccount } from './remote-account.ts';
import type { Choose, StoredView, ViewStore } from './view-store.ts';

interface RemoteViewsDeps {
  readonly store: ViewStore;
  readonly clock: Clock;
  /** Accounts of other replicas. */
  accounts(): readonly string[];
  /** Called for each new reading. */
  onReading(batch: Batch): void;
}

/** View that was read. */
interface Known {
  readonly at: number;
  readonly account: RemoteAccount;
  readonly document: ViewDocument;
  readonly slices: ReadonlyMap<string, readonly unknown[]>;
}

/** Maximum number of views that are read together: their slices are in memory twice. */
const AT_ONCE = 50;

export class RemoteViews {
  readonly #deps: RemoteViewsDeps;
  readonly #known = new Map<string, Known>();

  constructor(deps: RemoteViewsDeps) {
    this.#deps = deps;
  }

  /** Returns an account of another replica; undefined if none has shown it. */
  of(account: string): RemoteAccount | undefined {
    return this.#known.get(account)?.account;
  }

  /**
   * Reads the views that changed. A view that cannot be read does not affect the others.
   *
   * @throws if the store is unavailable or a view cannot be read
   */
  async refresh(): Promise<void> {
    const problems: string[] = [];
    const read = new Set<string>();
    let before: number;
    do {
      before = read.size;
      const part = await this.#read((views) => {
        const changed = this.#changed(views).filter((account) => !read.has(account));
        const next = changed.slice(0, AT_ONCE);
        for (const account of next) read.add(account);
        return next;
      });
      problems.push(...part);
    } while (read.size === before + AT_ONCE);
    if (problems.length > 0) throw new Error(problems.join('; '));
  }

  /** Returns the accounts whose views changed, and forgets those that are gone. */
  #changed(views: ReadonlyMap<string, number>): readonly string[] {
    const accounts = new Set(this.#deps.accounts());
    for (const account of this.#known.keys()) {
      if (!accounts.has(account) || !views.has(account)) this.#known.delete(account);
    }
    return [...accounts].filter((account) => {
      const at = views.get(account);
      return at !== undefined && at !== this.#known.get(account)?.at;
    });
  }

  /**
   * Reads views.
   *
   * @param choose returns the accounts to read, by the times of all views
   * @returns the problems of those that cannot be read
   */
  async #read(choose: (views: ReadonlyMap<string, number>) => readonly string[]): Promise<readonly string[]> {
    const { store, clock } = this.#deps;
    const askedAt = clock.monotonic();
    /** Offset of the monotonic clock of this process to the clock of the store. */
    let offset = 0;
    const problems: string[] = [];
    const documents = new Map<string, ViewDocument>();
    const unreadable = (account: string, error: unknown): void =>
      void problems.push(`view of ${account}: ${errorMessage(error)}`);
    const chosen: Choose = ({ now, views }) => {
      // An age is too high by the duration of the query, and never too low.
      offset = askedAt - now;
      return choose(views);
    };
    const stored = await store.read(chosen, (account, body) => {
      try {
        const document = unpackedDocument(body);
        documents.set(account, document);
        return idsOf(document).filter((id) => this.#known.get(account)?.slices.has(id) !== true);
      } catch (error) {
        unreadable(account, error);
        return [];
      }
    });
    for (const [account, document] of documents) {
      try {
        const view = stored.get(account)!;
        await this.#take(account, document, { ...view, writtenAt: view.at + offset });
      } catch (error) {
        unreadable(account, error);
      }
    }
    return problems;
  }

  async #take(
    account: string,
    document: ViewDocument,
    stored: StoredView & { readonly writtenAt: number },
  ): Promise<void> {
    const before = this.#known.get(account);
    const slices = await slicesOf(document, stored, before);
    const view = { facts: document.facts, moving: document.moving, lists: listsOf(document, slices, before) };
    const remote = new RemoteAccount(account, view, stored.writtenAt, before?.account);
    this.#known.set(account, { at: stored.at, account: remote, document, slices });
    for (const [collector, { batch }] of remote.readings) {
      const isNew = batch?.at !== before?.account.readings.get(collector)?.batch?.at;
      if (batch !== undefined && isNew) this.#deps.onReading(batch);
    }
  }
}

function idsOf({ lists }: ViewDocument): string[] {
  return [...new Set(Object.values(lists).flat())];
}

async function slicesOf(
  document: ViewDocument,
  stored: StoredView,
  before: Known | undefined,
): Promise<ReadonlyMap<string, readonly unknown[]>> {
  const slices = new Map<string, readonly unknown[]>();
  for (const id of idsOf(document)) {
    const known = before?.slices.get(id);
    const bytes = stored.slices.get(id);
    if (known === undefined && bytes === undefined) throw new Error(`its slice ${id} is missing`);
    slices.set(id, known ?? (await unpackedRows(bytes!)));
  }
  return slices;
}

/** Lists that did not change are the same objects as before. */
function listsOf(document: ViewDocument, slices: Known['slices'], before: Known | undefined): ReadView['lists'] {
  const names = Object.keys(document.lists) as ListName[];
  return new Map(
    names.map((name) => {
      const ids = document.lists[name]!;
      const old = before?.document.lists[name];
      const isSame = old?.length === ids.length && old.every((id, index) => id === ids[index]);
      return [name, isSame ? before!.account.lists.get(name)! : ids.flatMap((id) => slices.get(id)!)];
    }),
  );
}
