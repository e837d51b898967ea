/**
 * Decides if this process is allowed to act on this store. It must hold the lease, and the store must not be older than
 * its audit log.
 */
import { DISTRUSTED, OPENED, type AuditLog } from '#automate/ledger/audit-log.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { Trust } from '#automate/ledger/trust.ts';
import type { Journal } from './ledger-journal.ts';

interface StoreTrust extends Pick<Trust, 'leaseLost' | 'adopt'> {
  mustBeAdopted(): string | undefined;
}

/** Key of the stored reason why the store must be adopted. It survives restarts. */
export const MUST_ADOPT = 'must_adopt';

/** Records this opening in the audit log first, and stores why the store is not trusted. */
export function createTrust(
  { db, instance, epoch, problem: storeProblem, change }: Journal,
  audit: AuditLog,
): StoreTrust {
  const selectMeta = db.prepare('SELECT value FROM meta WHERE key = ?');
  const putMeta = db.prepare('INSERT OR IGNORE INTO meta (key, value) VALUES (?, ?)');
  const deleteMeta = db.prepare('DELETE FROM meta WHERE key = ?');
  const meta = (key: string): string | undefined => {
    const value = selectMeta.get(key)?.['value'];
    return typeof value === 'string' ? value : undefined;
  };
  const problem = audit.problem ?? begin();
  let distrust = meta(MUST_ADOPT);

  /** @returns why the audit log could not be written */
  function begin(): string | undefined {
    const { notes, distrust: found } = audit.opening;
    try {
      for (const note of notes) change((tell) => tell(note));
      if (found !== undefined) {
        const { reason, begins } = found;
        change((tell) => {
          putMeta.run(MUST_ADOPT, reason);
          tell({ type: DISTRUSTED, reason, ...(begins && { begins }) });
        });
      }
      change((tell) => tell({ type: OPENED }));
      return undefined;
    } catch (error) {
      return `the audit log cannot be written: ${errorMessage(error)}`;
    }
  }

  return {
    // The file's lock excludes a second process. This check detects a store that was changed despite the lock. It
    // cannot detect a copy of the file that is opened elsewhere.
    leaseLost(): string | undefined {
      const found = storeProblem();
      if (found !== undefined) return found;
      const [owner, opened] = [meta('instance'), meta('epoch')];
      if (owner !== instance) return `the store is now ${owner ?? 'without identity'}, this process opened ${instance}`;
      if (opened !== String(epoch))
        return `opening ${opened ?? 'none'} of the store is newer than this process's ${epoch}`;
      return undefined;
    },
    mustBeAdopted: () => problem ?? distrust,
    adopt({ by, reason }): void {
      if (problem !== undefined)
        throw new Error(`${problem}; fix this and restart the daemon before you adopt the store`);
      if (distrust === undefined) return;
      change((tell) => {
        deleteMeta.run(MUST_ADOPT);
        // Budget raises that the store does not have may have been made until now.
        db.exec('DELETE FROM watched_accounts');
        tell({ type: 'store.adopted', by, reason, because: distrust });
      });
      distrust = undefined;
    },
  };
}
