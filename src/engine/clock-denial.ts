/**
 * What is deleted without a listing is bounded by the local clock alone: where the service's last answer told of another
 * time, nothing is.
 */
import type { Denial } from '../domain/plan.ts';
import type { EngineDeps } from './engine-deps.ts';
import { firstDenial, guardsAt } from './guards-at.ts';

export function clockDenial(account: string, { clock, facts, guards }: EngineDeps): Denial | undefined {
  const clockSkewMs = facts.clockSkewMs(account);
  return firstDenial(guardsAt(guards, 'read'), {
    complete: true,
    entries: [],
    dropped: 0,
    filter: {},
    ...(clockSkewMs !== undefined && { clockSkewMs }),
    now: clock.now(),
  });
}
