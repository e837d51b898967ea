/** Writes the views of the accounts that this replica owns: what changed, and nothing else, many at once. */
import { nextTurn } from '#foundation/platform/next-turn.ts';
import { idsOf, type SharedAccount, type ListName, type ViewDocument } from './account-view.ts';
import { packed } from './documents.ts';
import { slicesOf } from './slices.ts';
import type { NewView, ViewStore } from './view-store.ts';

/** Last written view of an account. */
interface Written {
  /** Document without the moving facts. */
  readonly text: string;
  readonly lists: ReadonlyMap<ListName, { readonly revision: object; readonly ids: readonly string[] }>;
}

/** View that is written with the next ones. */
interface Prepared {
  readonly view: NewView;
  readonly written: Written;
}

/** Size at which the prepared views are written. */
const MOST_BYTES = 1_048_576;

export class ViewWriter {
  readonly #store: ViewStore;
  readonly #onFailed: (error: unknown) => void;
  readonly #written = new Map<string, Written>();
  #prepared: Prepared[] = [];
  #bytes = 0;

  /** @param onFailed called for each account whose view could not be written: the store is unavailable, or it lost the account */
  constructor(store: ViewStore, onFailed: (error: unknown) => void) {
    this.#store = store;
    this.#onFailed = onFailed;
  }

  /** Prepares a view if it changed. It is written at the latest by `flush`. */
  async add(account: string, shared: SharedAccount): Promise<void> {
    try {
      await this.#prepare(account, shared);
    } catch (error) {
      this.#onFailed(error);
    }
    if (this.#bytes >= MOST_BYTES) await this.flush();
  }

  /** Writes the prepared views together; after a failure each alone, so that no account stops another. */
  async flush(): Promise<void> {
    const prepared = this.#prepared;
    this.#prepared = [];
    this.#bytes = 0;
    if (prepared.length === 0) return;
    try {
      await this.#store.write(prepared.map(({ view }) => view));
      for (const { view, written } of prepared) this.#written.set(view.account, written);
    } catch (error) {
      if (prepared.length === 1) return this.#onFailed(error);
      for (const one of prepared) {
        this.#prepared = [one];
        await this.flush();
      }
    }
  }

  async #prepare(account: string, { facts, moving, lists }: SharedAccount): Promise<void> {
    const before = this.#written.get(account);
    // Unknown until this view is written, so that the next one begins from scratch after a failure.
    this.#written.delete(account);
    const stored = new Set(before === undefined ? await this.#store.slices(account) : idsIn(before.lists));
    const added = new Map<string, Uint8Array>();
    const written = new Map<ListName, { readonly revision: object; readonly ids: readonly string[] }>();
    for (const [name, { revision, rows }] of lists) {
      const known = before?.lists.get(name);
      if (known?.revision === revision) {
        written.set(name, known);
        continue;
      }
      const ids: string[] = [];
      for (const { id, text } of slicesOf(rows(), idsOf(name))) {
        ids.push(id);
        if (!stored.has(id) && !added.has(id)) added.set(id, await packed(text));
        // Other work runs in between.
        else await nextTurn();
      }
      written.set(name, { revision, ids });
    }
    const document = { facts, lists: Object.fromEntries([...written].map(([name, { ids }]) => [name, ids])) };
    const text = JSON.stringify(document);
    if (text === before?.text) {
      this.#written.set(account, { text, lists: written });
      return;
    }
    const ids = idsIn(written);
    const isSame = before !== undefined && added.size === 0 && ids.length === stored.size;
    const body = await packed(JSON.stringify({ ...document, moving } satisfies ViewDocument));
    const view = { account, body, added, ...(!isSame && { slices: ids }) };
    this.#prepared.push({ view, written: { text, lists: written } });
    this.#bytes += added.values().reduce((sum, { length }) => sum + length, body.length);
  }
}

function idsIn(lists: Written['lists']): string[] {
  return [...new Set([...lists.values()].flatMap(({ ids }) => ids))];
}
