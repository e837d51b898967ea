/** Error for the operator: the reason why a store cannot be used. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

/** The connection was lost during a commit, and its outcome could not be found out. */
export class CommitUnknownError extends StoreError {}

/** Another replica owns the account. Nothing was changed. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
  readonly account: string;

  constructor(account: string, held: number | undefined, current: number | undefined) {
    const owned = held === undefined ? 'this replica has no lease on it' : `this replica had epoch ${held}`;
    const now = current === undefined ? '' : `, and the current epoch is ${current}`;
    super(`account ${account} was not changed: ${owned}${now}`);
    this.account = account;
  }
}

const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

/** Returns SQLite's primary result code; undefined for other errors. */
function primaryCode(error: unknown): number | undefined {
  const { errcode } = error as { readonly errcode?: number };
  // The low byte is the primary code; the other bytes are details.
  return errcode === undefined ? undefined : errcode & 0xff;
}

/** Returns true if SQLite found the file damaged. */
export function isDamage(error: unknown): boolean {
  const code = primaryCode(error);
  return code === SQLITE_CORRUPT || code === SQLITE_NOTADB;
}

export function explain(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error;
  const { code, message } = error as { code?: string; message: string };
  if (primaryCode(error) === SQLITE_BUSY) {
    return new StoreError(
      `${path}: another process uses this store. Only one daemon can run on a store: stop the other one, or set another file in storage.sqlite.path.`,
      { cause: error },
    );
  }
  if (isDamage(error)) {
    return new StoreError(
      `${path}: not a usable store (${message}). Move the file away to start a new one, or restore a copy.`,
      { cause: error },
    );
  }
  const why = code === 'ERR_SQLITE_ERROR' || code === undefined ? message : `${code}: ${message}`;
  return new StoreError(
    `${path}: the store cannot be opened (${why}). The daemon must be able to write this file and its folder.`,
    { cause: error },
  );
}
