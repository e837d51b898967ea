/** Writes the views of the accounts that this replica owns: what changed, and nothing else. */
import { nextTurn } from '#foundation/platform/next-turn.ts';
import { idsOf, type SharedAccount, type ListName, type ViewDocument } from './account-view.ts';
import { packed } from './documents.ts';
import { slicesOf } from './slices.ts';
import type { ViewStore } from './view-store.ts';

/** Last written view of an account. */
interface Written {
  /** Document without the moving facts. */
  readonly text: string;
  readonly lists: ReadonlyMap<ListName, { readonly revision: object; readonly ids: readonly string[] }>;
}

export class ViewWriter {
  readonly #store: ViewStore;
  readonly #written = new Map<string, Written>();

  constructor(store: ViewStore) {
    this.#store = store;
  }

  /** Writes a view if it changed. @throws if the store is unavailable, or another replica owns the account */
  async write(account: string, { facts, moving, lists }: SharedAccount): Promise<void> {
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
    if (text !== before?.text) {
      const ids = idsIn(written);
      const isSame = before !== undefined && added.size === 0 && ids.length === stored.size;
      const body = await packed(JSON.stringify({ ...document, moving } satisfies ViewDocument));
      await this.#store.write({ account, body, added, ...(!isSame && { slices: ids }) });
    }
    this.#written.set(account, { text, lists: written });
  }
}

function idsIn(lists: Written['lists']): string[] {
  return [...new Set([...lists.values()].flatMap(({ ids }) => ids))];
}
