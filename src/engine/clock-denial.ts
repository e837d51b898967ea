/**
 * Whether the local clock can be relied on where no entries tell: it bounds what is deleted without a listing, and says
 * when a lost request has had its time.
 */
import type { Denial } from '../domain/plan.ts';
import type { EngineDeps } from './engine-deps.ts';
import { firstDenial, guardsAt } from './guards-at.ts';

/** @param clockSkewMs local clock minus the service's; absent when it was not told */
export function clockDenial(
  clockSkewMs: number | undefined,
  { clock, guards }: Pick<EngineDeps, 'clock' | 'guards'>,
): Denial | undefined {
  return firstDenial(guardsAt(guards, 'read'), {
    complete: true,
    entries: [],
    dropped: 0,
    filter: {},
    ...(clockSkewMs !== undefined && { clockSkewMs }),
    now: clock.now(),
  });
}
