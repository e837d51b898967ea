/** Whether this process may act on this store: it holds the lease, and the store is not older than what was done. */
import type { Ledger } from '../ledger/ledger.ts';
import type { Journal } from './ledger-journal.ts';

export interface Trust extends Pick<Ledger, 'leaseLost' | 'adopt'> {
  mustBeAdopted(): string | undefined;
}

export function createTrust({ db, instance, epoch, change }: Journal): Trust {
  const selectMeta = db.prepare('SELECT value FROM meta WHERE key = ?');
  const deleteMeta = db.prepare('DELETE FROM meta WHERE key = ?');
  const meta = (key: string): string | undefined => {
    const value = selectMeta.get(key)?.['value'];
    return typeof value === 'string' ? value : undefined;
  };

  return {
    // The file's lock keeps a second process out. This sees a store that was changed under it all the same; a copy of
    // the file that is opened elsewhere cannot be seen.
    leaseLost(): string | undefined {
      const [owner, opened] = [meta('instance'), meta('epoch')];
      if (owner !== instance) return `the store is now ${owner ?? 'without identity'}, this process opened ${instance}`;
      if (opened !== String(epoch))
        return `opening ${opened ?? 'none'} of the store is newer than this process's ${epoch}`;
      return undefined;
    },
    mustBeAdopted: () => meta('must_adopt'),
    adopt: ({ by, reason }) =>
      change((tell) => {
        const because = meta('must_adopt');
        if (because === undefined) return;
        deleteMeta.run('must_adopt');
        tell({ type: 'adopt', by, reason, because });
      }),
  };
}
