/** Events of the service's client. */
import type { ServiceErrorCode } from '../domain/service-error.ts';

export type Api = 'message' | 'management';

export type ClientEvent =
  | {
      readonly type: 'api.request';
      readonly account: string;
      readonly api: Api;
      /** Name of the operation as in `opsd api`: `list-logs`. */
      readonly operation: string;
      /** HTTP status, or `error` if there was no response. */
      readonly code: number | 'error';
      /** Absent if the request succeeded. */
      readonly failure?: ServiceErrorCode;
      readonly method: string;
      /** URL without its query, and without ids that may contain secrets. */
      readonly url: string;
      readonly durationMs: number;
      /** Bytes of the response body. */
      readonly bytes: number;
      /**
       * Smallest possible difference of the local clock from the service's clock, in milliseconds; absent without a
       * Date.
       */
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
      readonly type: 'api.invalid_rows';
      readonly account: string;
      readonly operation: string;
      readonly count: number;
      /** Number of these that are values outside of their range. */
      readonly values: number;
      readonly example: string;
    }
  | {
      /** A credential file was used for the first time, or its contents changed. */
      readonly type: 'credential.read';
      readonly account: string;
      readonly credential: string;
      /** Epoch milliseconds of the last write to the file. */
      readonly writtenAt: number;
      readonly isReplaced: boolean;
    };
