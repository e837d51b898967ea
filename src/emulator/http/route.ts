/** What a handler of the embedded service gets and gives: HTTP without sockets. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Account } from '../state/account.ts';
import type { ApiError } from '../state/api-error.ts';

export interface ApiRequest {
  /** The account whose credentials the request carried (message API), or that manages the others (management API). */
  readonly account: Account;
  readonly headers: IncomingHttpHeaders;
  /** Path values by name: each one decoded segment, or for `*name` the undecoded rest of the path, query included. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: Uint8Array;
  readonly callerIp: string;
}

export interface ApiResponse {
  readonly status: number;
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** What becomes of the answer on its way: nothing of it is sent, half of its JSON, or half of what is announced. */
  readonly sending?: 'lost' | 'cut' | 'broken-off';
}

type ApiHandler = (request: ApiRequest) => ApiResponse | Promise<ApiResponse>;

/** Where the control path begins. */
export const CONTROL_PATH = '/-/emulator';

export interface Route {
  /** Decides the scheme of authentication; the control path has none. */
  readonly api: 'message' | 'management' | 'control';
  /** The operation's name: `list-logs`. */
  readonly operation: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** `/v2/topics/:urlGroupName/endpoints`; a last segment `*name` takes the rest of the path as it is. */
  readonly pattern: string;
  readonly handle: ApiHandler;
}

export function responseOf(error: ApiError): ApiResponse {
  return { status: error.status, json: { error: error.message }, headers: error.headers };
}
