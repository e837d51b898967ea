/** Why a store cannot be used, for its operator. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

/** Primary result code of SQLite; undefined for other errors. */
function primaryCode(error: unknown): number | undefined {
  const { errcode } = error as { readonly errcode?: number };
  // The low byte is the primary code; the rest details it.
  return errcode === undefined ? undefined : errcode & 0xff;
}

/** Returns true when SQLite found the file damaged. */
export function isDamage(error: unknown): boolean {
  const code = primaryCode(error);
  return code === SQLITE_CORRUPT || code === SQLITE_NOTADB;
}

export function explain(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error;
  const { code, message } = error as { code?: string; message: string };
  if (primaryCode(error) === SQLITE_BUSY) {
    return new StoreError(
      `${path}: another process uses this store. One daemon may run on a store: stop the other one, or name another file in storage.sqlite.path.`,
      { cause: error },
    );
  }
  if (isDamage(error)) {
    return new StoreError(
      `${path}: not a usable store (${message}). Move the file away to begin a new one, or restore a copy.`,
      { cause: error },
    );
  }
  const why = code === 'ERR_SQLITE_ERROR' || code === undefined ? message : `${code}: ${message}`;
  return new StoreError(
    `${path}: the store cannot be opened (${why}). The daemon must be able to write this file and its folder.`,
    { cause: error },
  );
}
