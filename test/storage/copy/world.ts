/** Stores to copy. */
import type { CopyWatch } from '#storage/copy/store-copy.ts';
import { auditedStore } from '../../support/audited-store.ts';
import { intentFor } from '../../support/ledger-facts.ts';

export const WATCH: CopyWatch = { onProgress: () => undefined, signal: new AbortController().signal };

/** Returns the path of a closed store with an audit log in several files. */
export async function storeWithActions(): Promise<string> {
  const { path, open, close } = auditedStore(200);
  const { ledger } = await open();
  for (const id of ['dlq-1', 'dlq-2', 'dlq-3']) await intentFor(ledger, id);
  close();
  return path;
}
