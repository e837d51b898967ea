/** Whether an API of the service is up, as seen from the answers to our own requests. */
import type { ServiceErrorCode } from '#foundation/domain/service-error.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Api, OpsEvent } from '#foundation/events/events.ts';

/**
 * What a failure says of the API: `down` when it does not answer well or does not take our credentials, `up` when the
 * fault is in what was asked, `silent` when it says nothing.
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
  aborted: 'silent',
};

export interface ApiHealth {
  heard(event: Extract<OpsEvent, { type: 'api.request' }>): void;
  /** Whether the last telling answer was a good one; undefined when there was none within `withinMs`. */
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
