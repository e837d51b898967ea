/** The check of the local clock for decisions outside of a run, and the read that makes the check possible. */
import type { Denial } from '#foundation/domain/plan.ts';
import type { EngineDeps } from './engine-deps.ts';
import { firstDenial, guardsAt } from './guards-at.ts';

/** Returns why no limit in time may expire for this account now; undefined when the clock can be relied on. */
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

/** Sends one read where the service has not answered yet: without its time, no run may begin. */
export async function hearClock(
  account: string,
  { facts, actions }: Pick<EngineDeps, 'facts' | 'actions'>,
  signal: AbortSignal,
): Promise<void> {
  if (facts.clockSkewMs(account) === undefined) await actions.hear(account, signal);
}
