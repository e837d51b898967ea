/** Parts that the handlers of the message API use. */
import type { Clock } from '#foundation/platform/clock.ts';
import type { Random } from '#foundation/platform/random.ts';
import type { AccountState } from '../state/account-state.ts';
import type { Admission } from './admission.ts';
import type { Engine } from '../delivery/engine.ts';
import type { LimitsOf } from '../state/limits.ts';
import type { JsonStyle } from './message-json.ts';
import type { MessageOrigins } from '../state/message-origins.ts';
import { HEADER_PARAMETERS } from './header-parameters.ts';
import { QUERY_PARAMETERS } from './query-parameters.ts';
import { Query } from './query.ts';
import { ApiError } from '../state/api-error.ts';
import type { ReceivedRequest } from './route.ts';
import { privateKindOfUrl } from '../delivery/private-destinations.ts';
import { ServiceHeaders } from './service-headers.ts';

export interface MessageContext extends JsonStyle {
  readonly clock: Clock;
  readonly random: Random;
  readonly engine: Engine;
  readonly admission: Admission;
  readonly limitsOf: LimitsOf;
  readonly origins: MessageOrigins;
  readonly states: ReadonlyMap<string, AccountState>;
  /** Returns true for a destination on a loopback port that the emulator chose. Such a destination is not private. */
  readonly isMapped: (destination: URL) => boolean;
  /** Prefix of the installation's headers, such as `Svc`. */
  readonly headerPrefix: string;
}

/** @throws {ApiError} 400 when private destinations are rejected and the URL shows one without a lookup */
export function requireReachable(context: MessageContext, urls: readonly (string | undefined)[]): void {
  if (context.switches.privateDestinations === 'allowed') return;
  for (const text of urls) {
    if (text === undefined) continue;
    const url = new URL(text);
    const kind = context.isMapped(url) ? undefined : privateKindOfUrl(url);
    if (kind === undefined) continue;
    throw new ApiError(
      400,
      `the destination ${text.slice(0, 200)} is ${kind}: use a publicly reachable destination, or allow private destinations`,
    );
  }
}

export function stateOf(context: MessageContext, request: ReceivedRequest): AccountState {
  return context.states.get(request.account.id)!;
}

export function queryOf(
  context: MessageContext,
  request: ReceivedRequest,
  operation: keyof typeof QUERY_PARAMETERS,
): Query {
  return new Query(request.query, QUERY_PARAMETERS[operation], context.switches);
}

export function serviceHeadersOf(
  context: MessageContext,
  request: ReceivedRequest,
  operation: keyof typeof HEADER_PARAMETERS,
): ServiceHeaders {
  return new ServiceHeaders(request.headers, context.headerPrefix, HEADER_PARAMETERS[operation]);
}
