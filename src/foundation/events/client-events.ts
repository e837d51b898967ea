/** Events of the client of the service. */
import type { ServiceErrorCode } from '../domain/service-error.ts';

export type Api = 'message' | 'management';

export type ClientEvent =
  | {
      readonly type: 'api.request';
      readonly account: string;
      readonly api: Api;
      /** Name of the operation, as in `opsd api`: `list-logs`. */
      readonly operation: string;
      /** HTTP status, or `error` when there was no answer. */
      readonly code: number | 'error';
      /** Absent when the request succeeded. */
      readonly failure?: ServiceErrorCode;
      readonly method: string;
      /** Without its query, and without ids that may hold secrets. */
      readonly url: string;
      readonly durationMs: number;
      /** Bytes of the answer's body. */
      readonly bytes: number;
      /** Local clock minus the service's, milliseconds, the nearest to zero that it can be; absent without a Date. */
      readonly clockSkewMs?: number;
    }
  | {
      readonly type: 'api.retry';
      readonly account: string;
      readonly api: Api;
      readonly operation: string;
      readonly delayMs: number;
    }
  | { readonly type: 'api.throttled'; readonly account: string; readonly api: Api; readonly waitMs: number }
  | {
      readonly type: 'api.rate_limit';
      readonly account: string;
      readonly api: Api;
      readonly window: 'burst' | 'day';
      readonly remaining: number;
    }
  | {
      readonly type: 'api.rows_dropped';
      readonly account: string;
      readonly operation: string;
      readonly count: number;
      readonly example: string;
    }
  | {
      /** A credential file is used for the first time, or its contents have changed. */
      readonly type: 'credential.read';
      readonly account: string;
      readonly credential: string;
      /** When its file was last written, epoch milliseconds. */
      readonly writtenAt: number;
      readonly isReplaced: boolean;
    };
