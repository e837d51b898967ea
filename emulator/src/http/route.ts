/** Requests and responses of the embedded service's handlers: HTTP without sockets. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Account } from '../state/account.ts';
import type { ApiError } from '../state/api-error.ts';

export interface ReceivedRequest {
  /** Account of the request's credentials (message API), or the account that manages the others (management API). */
  readonly account: Account;
  readonly headers: IncomingHttpHeaders;
  /**
   * Path values by name. Each is one decoded segment, or for `*name` the undecoded rest of the path, query included.
   */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: Uint8Array;
  readonly callerIp: string;
}

export interface ApiResponse {
  readonly status: number;
  readonly json?: unknown;
  /** Content in place of JSON. Its type is among the headers. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Fault in the transfer of the response: nothing is sent, half of its JSON, or half of the announced length. */
  readonly sending?: 'lost' | 'cut' | 'broken-off';
}

type ApiHandler = (request: ReceivedRequest) => ApiResponse | Promise<ApiResponse>;

/** Prefix of the control path. */
export const CONTROL_PATH = '/-/emulator';

export interface Route {
  /** Selects the authentication scheme; the control path has none. */
  readonly api: 'message' | 'management' | 'control';
  /** Name of the operation, such as `list-logs`. */
  readonly operation: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path such as `/v2/topics/:urlGroupName/endpoints`. A last segment `*name` takes the rest of the path unchanged. */
  readonly pattern: string;
  /**
   * For routes without credentials: `own` rejects requests that pages of other sites make a browser send, `links` lets
   * those pages link to the route. Both reject requests for host names that are not the service's.
   */
  readonly sites?: 'own' | 'links';
  readonly handle: ApiHandler;
}

export function responseOf(error: ApiError): ApiResponse {
  return { status: error.status, json: { error: error.message }, headers: error.headers };
}
