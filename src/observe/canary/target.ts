/** Canary of an account, with everything that its messages need. */
import type { MessageApi } from '#service/api.ts';
import type { CanaryBook } from './book.ts';
import type { CanaryRoute } from './facts.ts';
import type { CanaryInbox } from './inbox.ts';
import type { CanaryPlace } from './message.ts';
import type { CanarySettings } from './settings.ts';

export interface CanaryTarget extends CanaryPlace {
  readonly settings: CanarySettings;
  /** Address of the messages: `…/hooks/canary/ACCOUNT/NAME`. */
  readonly url: string;
  /** Address of their callbacks. */
  readonly callbackUrl: string;
  readonly api: MessageApi;
  /** Address of the API. */
  readonly apiUrl: string;
  readonly book: CanaryBook;
  readonly inbox: CanaryInbox;
}

/** Longest attempt to deliver a message. Half of the timeout, so that a failed attempt is in the log in time. */
const MOST_ATTEMPT_MS = 30_000;

export function attemptMsOf({ timeout }: CanarySettings): number {
  return Math.min(MOST_ATTEMPT_MS, Math.max(1_000, Math.floor(timeout / 2_000) * 1_000));
}

export function routeOf({ via }: CanarySettings): CanaryRoute {
  const [kind = 'url'] = Object.keys(via ?? {}) as CanaryRoute[];
  return kind;
}
