/**
 * Statements on commands that one replica asks the owner of an account to run. All times are those of the database's
 * clock. The row lock decides between the owner, which takes a command, and the requester, which withdraws it.
 */
import { all, each, get, withoutNulls, run, type Nullable, type Work } from '../database.ts';
import { DATABASE_CLOCK } from './lease-table.ts';
import { notify } from './notices.ts';
import { POSTGRES } from './translate.ts';

const DAY_MS = 86_400_000;

interface NewCommand {
  readonly id: string;
  readonly account: string;
  readonly kind: string;
  /** Operator, for someone who reads the table. */
  readonly by: string;
  /** Epoch of the only owner that can read the arguments; undefined if they are not sealed. */
  readonly epoch?: number;
  readonly arguments: Uint8Array;
  /** Key for the result; undefined if no requester waits for it. */
  readonly replyKey?: Uint8Array;
  /** Milliseconds during which the command can be taken. */
  readonly forMs: number;
}

export type TakenCommand = Pick<NewCommand, 'id' | 'kind' | 'by' | 'epoch' | 'arguments' | 'replyKey'>;

/** Owner of an account that can take commands. */
export interface Taker {
  readonly epoch: number;
  /** Name of the replica. */
  readonly replica: string;
  /** Key for arguments; undefined while the replica does not take commands yet. */
  readonly key?: Uint8Array;
}

interface OpenCommand {
  readonly id: string;
  readonly account: string;
  readonly state: 'waiting' | 'taken';
  /** Epoch of the owner that has taken it. */
  readonly epoch: number | null;
  /** 1 if its requester does not wait for the result any more. */
  readonly isExpired: 0 | 1;
}

export interface Progress {
  readonly state: 'waiting' | 'taken' | 'done';
  readonly result?: Uint8Array;
  /** 0 if the replica that the command was sent to, or that has taken it, does not own the account any more. */
  readonly isOwned: 0 | 1;
}

export type CommandTable = ReturnType<typeof createCommandTable>;

const INSERT = `INSERT INTO commands
    (id, account, kind, by, made_at, expires_at, state, key_epoch, arguments, reply_key)
  VALUES (?1, ?2, ?3, ?4, CLOCK, CLOCK + ?5, 'waiting', ?6, ?7, ?8)`;
const PUBLISH = `INSERT INTO command_keys (account, epoch, key) VALUES (?, ?, ?)
  ON CONFLICT (account) DO UPDATE SET epoch = excluded.epoch, key = excluded.key
  WHERE command_keys.epoch <= excluded.epoch`;
const TAKER = `SELECT l.epoch, r.name AS replica, k.key FROM leases l
  JOIN replicas r ON r.id = l.owner AND r.expires_at > CLOCK
  LEFT JOIN command_keys k ON k.account = l.account AND k.epoch = l.epoch
  WHERE l.account = ?`;
const TAKE = `UPDATE commands SET state = 'taken', taken_epoch = ?2
  WHERE account = ?1 AND state = 'waiting' AND (key_epoch IS NULL OR key_epoch = ?2) AND expires_at > CLOCK
  RETURNING id, kind, by, key_epoch AS epoch, arguments, reply_key AS "replyKey"`;
const OPEN = `SELECT id, account, state, taken_epoch AS epoch, expires_at <= CLOCK AS "isExpired"
  FROM commands WHERE state <> 'done' AND account IN ${POSTGRES.members('?1')}`;
const FINISH = `UPDATE commands SET state = 'done', arguments = NULL, result = ?2 WHERE id = ?1 AND state = 'taken'`;
const FOLLOW = `UPDATE commands c SET expires_at = CASE WHEN state = 'taken' THEN CLOCK + ?2 ELSE expires_at END
  WHERE id = ?1
  RETURNING state, result, EXISTS (SELECT 1 FROM leases l JOIN replicas r ON r.id = l.owner AND r.expires_at > CLOCK
    WHERE l.account = c.account AND l.epoch = coalesce(c.taken_epoch, c.key_epoch)) AS "isOwned"`;

/** @param now expression of the present time in epoch milliseconds */
export function createCommandTable(now = DATABASE_CLOCK) {
  const timed = (sql: string): string => sql.replaceAll('CLOCK', now);

  return {
    /** Stores the key of this replica for accounts that it owns. */
    *publish(keys: readonly { readonly account: string; readonly epoch: number }[], key: Uint8Array): Work<void> {
      yield* each(PUBLISH, keys, ({ account, epoch }) => [account, epoch, key]);
    },
    /** Returns the live owner of an account. */
    *taker(account: string): Work<Taker | undefined> {
      const row = yield* get<Nullable<Taker>>(timed(TAKER), account);
      return row && withoutNulls<Taker>(row);
    },
    *insert({ id, account, kind, by, epoch, arguments: given, replyKey, forMs }: NewCommand): Work<void> {
      yield* run(timed(`DELETE FROM commands WHERE expires_at < CLOCK - ${DAY_MS}`));
      yield* run(timed(INSERT), id, account, kind, by, forMs, epoch ?? null, given, replyKey ?? null);
      yield* notify('commands', account);
    },
    /** Returns the open commands of accounts. */
    open: (accounts: readonly string[]) => all<OpenCommand>(timed(OPEN), JSON.stringify(accounts)),
    /** Takes the commands of an account that have not expired. The transaction must be fenced by the account. */
    *take(account: string, epoch: number): Work<readonly TakenCommand[]> {
      return (yield* all<Nullable<TakenCommand>>(timed(TAKE), account, epoch)).map(withoutNulls<TakenCommand>);
    },
    /** Deletes a command that this epoch has taken and never ran. */
    *discard(id: string, epoch: number): Work<void> {
      yield* run(`DELETE FROM commands WHERE id = ? AND state = 'taken' AND taken_epoch = ?`, id, epoch);
      yield* notify('command', id);
    },
    /** Ends a command that was taken. */
    *finish(id: string, result: Uint8Array | undefined): Work<void> {
      yield* run(FINISH, id, result ?? null);
      yield* notify('command', id);
    },
    /** Returns the state of a command, and lets a taken one continue for `forMs`; undefined if it does not exist. */
    *follow(id: string, forMs: number): Work<Progress | undefined> {
      const row = yield* get<Nullable<Progress>>(timed(FOLLOW), id, forMs);
      return row && withoutNulls<Progress>(row);
    },
    /** Deletes a command that was not taken. */
    withdraw: (id: string) => run(`DELETE FROM commands WHERE id = ? AND state = 'waiting'`, id),
    /** Asks the owner to abort a command that it has taken. */
    *abandon(id: string): Work<void> {
      yield* run(`UPDATE commands SET expires_at = 0 WHERE id = ? AND state = 'taken'`, id);
      yield* notify('command', id);
    },
    /** Deletes the result of a command, which its requester has. */
    forget: (id: string) => run('UPDATE commands SET result = NULL WHERE id = ?', id),
  };
}
