/** Errors of PostgreSQL for the operator: what is wrong, where, and what to do. They never contain the password. */
import { errorMessage } from '#foundation/platform/error-message.ts';
import { StoreError } from '../store-error.ts';

export { CommitUnknownError, LeaseLostError } from '../store-error.ts';

interface Failure {
  /** SQLSTATE of PostgreSQL, or a code of Node. */
  readonly code?: string;
  readonly severity?: string;
}

const UNTRUSTED =
  'the certificate of the server is of an unknown authority: set sslrootcert in storage.postgres.url to the file of its authority';

/** Explanations by SQLSTATE or by code of Node. */
const EXPLANATIONS: Readonly<Record<string, string>> = {
  '08P01': 'the pooler before the server rejects the connection: check its log, and whether it reaches the server',
  '28P01': 'the password or user is wrong: correct storage.postgres.url',
  '28000':
    'the server does not let this user connect: check the user, pg_hba.conf, sslmode, and sslcert and sslkey for a client certificate',
  '3D000': 'the database does not exist: create it, or correct its name in storage.postgres.url',
  '3F000': 'the user has no schema: create the schema of its search_path, such as public',
  '42501': 'the user lacks a permission: it must own the tables and be allowed to create tables in its schema',
  '25P03': 'the transaction paused for too long, so the server ended it: check the load of this machine',
  '25006': 'the server is read-only: connect to the primary server',
  '53100': 'the disk of the server is full: free some space',
  '53300': 'the server has no free connection: raise max_connections, or lower storage.postgres.poolSize',
  '55P03': 'another transaction holds a lock for too long: the daemon tries again',
  '57014': 'a statement took too long and was canceled: check the load of the server, and sessions that hold a lock',
  '57P01': 'the server ended the connection because it is shutting down',
  '57P03': 'the server is starting up or shutting down',
  ECONNREFUSED: 'nothing listens there: start the server, or correct host and port in storage.postgres.url',
  ENOTFOUND: 'the host name cannot be resolved: correct it in storage.postgres.url',
  EAI_AGAIN: 'the host name cannot be resolved now: check the name server',
  ECONNRESET: 'the connection was cut: check the network and the server',
  EPIPE: 'the connection was cut: check the network and the server',
  ETIMEDOUT: 'the host does not respond: check the network, and the host in storage.postgres.url',
  EHOSTUNREACH: 'the host cannot be reached: check the network, and the host in storage.postgres.url',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'the certificate of the server is for another host: correct the host in storage.postgres.url',
  CERT_HAS_EXPIRED: 'the certificate of the server has expired: renew it',
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
};

/** Explanations of families of codes. */
const BY_CODE: readonly (readonly [code: RegExp, explanation: string])[] = [
  [
    /^ERR_SSL_.*ALERT.*(?:CERTIFICATE|_CA$)/,
    'the server rejects the client certificate: check sslcert and sslkey in storage.postgres.url',
  ],
  [/KEY_VALUES_MISMATCH/, 'the files of sslcert and sslkey do not belong together: name those of one pair'],
];

const TLS_DECLINED = 'The server does not support SSL connections';

/** Explanations of errors of the driver without a code, by their beginning. */
const BY_MESSAGE: readonly (readonly [begin: string, explanation: string])[] = [
  [TLS_DECLINED, 'the server has no TLS, which sslmode demands: turn on `ssl` in the server, or correct sslmode'],
  ['SASL: ', 'the password is missing or wrong: correct storage.postgres.url'],
  ['Query read timeout', 'the server did not respond in time: check its load, and the network'],
  ['timeout expired', 'connecting took too long: check the network, and the load of the server'],
  [
    'Connection terminated due to connection timeout',
    'connecting took too long: check the network, and the load of the server',
  ],
  [
    'timeout exceeded when trying to connect',
    'no connection became free in time: check the load of the server, or raise storage.postgres.poolSize',
  ],
  ['Client has encountered a connection error', 'the connection was cut: check the network and the server'],
  ['Connection terminated', 'the connection was cut: check the network and the server'],
  ['There was an error establishing an SSL connection', 'the server rejects TLS: check its log'],
];

/** Explains an error of the driver; returns other errors unchanged. */
export function explainPostgres(error: unknown, where: string): unknown {
  if (error instanceof StoreError || !isOfDriver(error)) return error;
  const { code = '' } = error as Failure;
  const message = errorMessage(error);
  const explained =
    EXPLANATIONS[code] ??
    BY_CODE.find(([family]) => family.test(code))?.[1] ??
    BY_MESSAGE.find(([begin]) => message.startsWith(begin))?.[1];
  const why = explained === undefined ? message : `${explained} (${message})`;
  return new StoreError(`${where}: the PostgreSQL store is unavailable: ${why}`, { cause: error });
}

/** Returns true if the connection cannot be used after this error. */
export function isConnectionLost(error: unknown): boolean {
  return isOfDriver(error) && (error as Failure).severity !== 'ERROR';
}

/** Returns true if the server has no TLS. */
export function isTlsDeclined(error: unknown): boolean {
  return errorMessage(error) === TLS_DECLINED;
}

/** Returns true for a server that may have been the primary before: another connection may lead to its successor. */
export function isReadOnly(error: unknown): boolean {
  return (error as Failure | undefined)?.code === '25006';
}

/** Beginnings of other messages of the driver. */
const DRIVER_MESSAGE = /^(?:Client was closed|Cannot use a pool)/;

function isOfDriver(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, severity } = error as Failure;
  if (severity !== undefined || typeof code === 'string') return true;
  return DRIVER_MESSAGE.test(error.message) || BY_MESSAGE.some(([begin]) => error.message.startsWith(begin));
}
