/** Check of the local clock for decisions outside a run, and the read that makes the check possible. */
import type { Denial } from '#foundation/domain/plan.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';
import { firstDenial, guardsAt } from './guards-at.ts';

/** Returns the reason why no time limit may expire for this account; undefined if the clock is reliable. */
export function clockDenial(
  account: string,
  { facts, clock, guards }: Pick<EngineDeps, 'facts' | 'clock' | 'guards'>,
): Denial | undefined {
  const clockSkewMs = facts.clockSkewMs(account);
  return firstDenial(
    guardsAt(guards, 'run').filter(({ name }) => name === 'clock'),
    { unmet: [], minInterval: 0, now: clock.now(), ...(clockSkewMs !== undefined && { clockSkewMs }) },
  );
}

/** Sends one read if the service has not responded yet: without its time, no run may start. */
export async function hearClock(
  account: string,
  { facts, actions }: Pick<EngineDeps, 'facts' | 'actions'>,
  signal: AbortSignal,
): Promise<void> {
  if (facts.clockSkewMs(account) === undefined) await actions.hear(account, signal);
}
