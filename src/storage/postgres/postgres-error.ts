/** Errors of PostgreSQL for the operator: what is wrong, where, and what to do. They never contain the password. */
import { errorMessage } from '#foundation/platform/error-message.ts';
import { StoreError } from '../store-error.ts';

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

/** The connection was lost during a commit, and its outcome could not be found out. */
export class CommitUnknownError extends StoreError {}

interface Failure {
  /** SQLSTATE of PostgreSQL, or a code of Node. */
  readonly code?: string;
  readonly severity?: string;
}

/** Explanations by SQLSTATE or by code of Node. */
const EXPLANATIONS: Readonly<Record<string, string>> = {
  '28P01': 'the password or user is wrong: correct storage.postgres.url',
  '28000': 'the server does not let this user connect: check the user, pg_hba.conf, and sslmode',
  '3D000': 'the database does not exist: create it, or correct its name in storage.postgres.url',
  '42501': 'the user lacks a permission: it must own the tables and be allowed to create tables in its schema',
  '25006': 'the server is read-only: connect to the primary server',
  '53100': 'the disk of the server is full: free some space',
  '53300': 'the server has no free connection: raise max_connections, or lower storage.postgres.poolSize',
  '55P03': 'another transaction holds a lock for too long: the daemon tries again',
  '57014': 'a statement took too long and was canceled: check the load of the server',
  '57P01': 'the server ended the connection because it is shutting down',
  '57P03': 'the server is starting up or shutting down',
  ECONNREFUSED: 'nothing listens there: start the server, or correct host and port in storage.postgres.url',
  ENOTFOUND: 'the host name cannot be resolved: correct it in storage.postgres.url',
  EAI_AGAIN: 'the host name cannot be resolved now: check the name server',
};

/** Explains an error of the driver; returns other errors unchanged. */
export function explainPostgres(error: unknown, where: string): unknown {
  if (error instanceof StoreError || !isOfDriver(error)) return error;
  const { code = '' } = error as Failure;
  const message = errorMessage(error);
  const explained = EXPLANATIONS[code];
  const why = explained === undefined ? message : `${explained} (${message})`;
  return new StoreError(`${where}: the PostgreSQL store is unavailable: ${why}`, { cause: error });
}

/** Returns true if the connection cannot be used after this error. */
export function isConnectionLost(error: unknown): boolean {
  return isOfDriver(error) && (error as Failure).severity !== 'ERROR';
}

const DRIVER_MESSAGE =
  /^(?:Connection terminated|Client (?:has encountered|was closed)|Query read timeout|timeout e(?:xceeded|xpired)|The server does not support SSL|Cannot use a pool)/;

function isOfDriver(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, severity } = error as Failure;
  return severity !== undefined || typeof code === 'string' || DRIVER_MESSAGE.test(error.message);
}
