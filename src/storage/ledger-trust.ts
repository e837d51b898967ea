/**
 * Decides if this process is allowed to act on this store. It must hold the lease, and the store must not be older than
 * its audit log.
 */
import { DISTRUSTED, OPENED, type AuditLog } from '#automate/ledger/audit-log.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { Trust } from '#automate/ledger/trust.ts';
import { all, run, type Database, type Work } from './database.ts';
import type { Journal } from './ledger-journal.ts';
import { addMeta, metaValue, removeMeta } from './meta.ts';

export interface StoreTrust extends Pick<Trust, 'adopt'> {
  /** `leaseLost` in a view, or in `journal.database`. */
  leaseLostIn(database: Database): Trust['leaseLost'];
  /** `leaseLost`, as work within a transaction. It also reads whether the store must be adopted. */
  lost(accounts: readonly string[]): Work<string | undefined>;
  mustBeAdopted(): string | undefined;
}

/** Result of an opening that was recorded in the audit log. */
export interface Opening {
  /** Reason why the audit log cannot be written. */
  readonly problem?: string | undefined;
  /** Tries to record the opening once more. Absent if it is recorded, or if only a restart helps. */
  readonly again?: () => Promise<Opening>;
  /** Reason why an operator must adopt the store. */
  readonly distrust?: string | undefined;
}

/** Key of the stored reason why the store must be adopted. It survives restarts. */
export const MUST_ADOPT = 'must_adopt';

const STATE = `SELECT key, value FROM meta WHERE key IN ('instance', 'epoch', '${MUST_ADOPT}')`;

/** Records this opening in the audit log first, and stores why the store is not trusted. */
export async function recordOpening(journal: Journal, audit: AuditLog): Promise<Opening> {
  const { database, write } = journal;
  const unwritten = audit.problem === undefined ? await begin() : undefined;
  return {
    problem: audit.problem ?? unwritten,
    ...(unwritten !== undefined && { again: () => recordOpening(journal, audit) }),
    distrust: await database.read(metaValue(MUST_ADOPT)),
  };

  /** @returns why the audit log could not be written */
  async function begin(): Promise<string | undefined> {
    const { distrust: found } = audit.opening;
    try {
      if (found !== undefined) {
        const { reason, begins } = found;
        await write(function* (tell) {
          yield* addMeta(MUST_ADOPT, reason);
          yield* tell({ type: DISTRUSTED, reason, ...(begins && { begins }) });
        });
      }
      await write((tell) => tell({ type: OPENED }));
      return undefined;
    } catch (error) {
      return `the audit log cannot be written: ${errorMessage(error)}; each run of a policy tries again`;
    }
  }
}

export function createTrust(
  { database, instance, epoch, problem: storeProblem, notOwned, write }: Journal,
  first: Opening,
): StoreTrust {
  let opening = first;
  let { distrust } = first;
  let trying: Promise<void> | undefined;

  async function reopen(): Promise<void> {
    try {
      opening = await opening.again!();
    } finally {
      trying = undefined;
    }
  }

  // The lock of a file excludes a second process. This check detects a store that was changed despite the lock. It cannot
  // detect a copy of the file that is opened elsewhere.
  function* lost(accounts: readonly string[]): Work<string | undefined> {
    const unusable = storeProblem();
    if (unusable !== undefined) return unusable;
    const meta = new Map((yield* all(STATE)).map((row) => [row['key'], String(row['value'])]));
    // Another replica may have adopted the store.
    distrust = meta.get(MUST_ADOPT);
    const [owner, opened] = [meta.get('instance'), meta.get('epoch')];
    if (owner !== instance) return `the store is now ${owner ?? 'without identity'}, this process opened ${instance}`;
    if (notOwned !== undefined) return yield* notOwned(accounts);
    if (opened !== String(epoch))
      return `opening ${opened ?? 'none'} of the store is newer than this process's ${epoch}`;
    return undefined;
  }

  return {
    lost,
    leaseLostIn:
      (reads) =>
      async (...accounts) => {
        // A view sees nothing that is written after its start.
        if (reads === database && opening.again !== undefined) await (trying ??= reopen());
        return reads.read(lost(accounts));
      },
    mustBeAdopted: () =>
      opening.problem ?? (distrust && `${distrust}; \`opsd state adopt --reason TEXT\` ends this state`),
    async adopt({ by, reason }) {
      if (opening.problem !== undefined) throw new Error(`${opening.problem}; adopt the store after that`);
      const adopted = await write(function* (tell) {
        const because = yield* metaValue(MUST_ADOPT);
        if (because === undefined) return undefined;
        yield* removeMeta(MUST_ADOPT);
        // Budget raises that the store does not have may have been made until now.
        yield* run('DELETE FROM watched_accounts');
        yield* tell({ type: 'store.adopted', by, reason, because });
        return because;
      });
      distrust = undefined;
      return adopted;
    },
  };
}
