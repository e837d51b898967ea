/** Health of the service's APIs, derived from the responses to the daemon's own requests. */
import type { ServiceErrorCode } from '#foundation/domain/service-error.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Api, OpsEvent } from '#foundation/events/events.ts';

/**
 * Meaning of each failure for the API's health. `down`: the API is unavailable or rejects our credentials. `up`: the
 * request was at fault. `silent`: the failure proves nothing.
 */
const SAYS: Readonly<Record<ServiceErrorCode, 'up' | 'down' | 'silent'>> = {
  dns: 'down',
  connection: 'down',
  tls: 'down',
  timeout: 'down',
  unauthorized: 'down',
  forbidden: 'down',
  server_error: 'down',
  malformed: 'down',
  redirect: 'down',
  not_found: 'up',
  client_error: 'up',
  rate_limited: 'silent',
  too_large: 'silent',
  cursor_loop: 'silent',
  budget: 'silent',
  lease: 'silent',
  aborted: 'silent',
};

export interface ApiHealth {
  heard(event: Extract<OpsEvent, { type: 'api.request' }>): void;
  /** Returns true if the last conclusive response was a success. Undefined if there was none within `withinMs`. */
  isUp(account: string, api: Api, withinMs: number): boolean | undefined;
}

export function createApiHealth(clock: Clock): ApiHealth {
  const last = new Map<string, { readonly isGood: boolean; readonly at: number }>();
  return {
    heard({ account, api, failure }) {
      const says = failure === undefined ? 'up' : SAYS[failure];
      if (says !== 'silent') last.set(`${account}\0${api}`, { isGood: says === 'up', at: clock.monotonic() });
    },
    isUp(account, api, withinMs) {
      const known = last.get(`${account}\0${api}`);
      if (known === undefined || clock.monotonic() - known.at > withinMs) return undefined;
      return known.isGood;
    },
  };
}
