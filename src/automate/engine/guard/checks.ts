/** Checks of guards at one stage, of the local clock, and of the end of a run's work. */
import { CLOCK_MARGIN_MS } from '#foundation/domain/clock-skew.ts';
import type { Hold } from '#foundation/domain/hold.ts';
import { denialBy, type Denial } from '#foundation/domain/plan.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { TimeoutError } from '#foundation/platform/sleep.ts';
import type { Guard } from '../../guardrails/guard.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';

/** Guards of one stage, in order. */
export function guardsAt<S extends Guard['stage']>(
  guards: readonly Guard[],
  stage: S,
): readonly Extract<Guard, { stage: S }>[] {
  return guards.filter((guard): guard is Extract<Guard, { stage: S }> => guard.stage === stage);
}

/** First objection of these guards. */
export function firstDenial<F>(
  guards: readonly { readonly name: string; check(facts: F): Hold | undefined }[],
  facts: F,
): Denial | undefined {
  for (const guard of guards) {
    const hold = guard.check(facts);
    if (hold !== undefined) return denialBy(guard.name, hold);
  }
  return undefined;
}

/** Returns true if the work was stopped. The end of its own time limit is no stop. */
export function isStopped(signal: AbortSignal): boolean {
  return signal.aborted && !(signal.reason instanceof TimeoutError);
}

/** Denial after an abort, when guards are no longer checked. */
export function interrupted(signal: AbortSignal): Denial {
  return interruptedBy(errorMessage(signal.reason));
}

/** Denial of every further request of a run that a stop or an operator ended. */
export function interruptedBy(measured: string): Denial {
  return denialBy('interrupted', {
    measured,
    needed: 'an interrupted run sends no further request',
    remedy: 'none is needed: later runs and plans decide about what is left',
  });
}

/** Returns the reason why no time limit may expire for this account; undefined if the clock is reliable. */
export function clockDenial(
  account: string,
  { facts, clock, guards }: Pick<EngineDeps, 'facts' | 'clock' | 'guards'>,
): Denial | undefined {
  const ofClock = guardsAt(guards, 'run').filter(({ name }) => name === 'clock');
  return firstDenial(ofClock, { unmet: [], minInterval: 0, now: clock.now(), clockSkewMs: facts.clockSkewMs(account) });
}

/** Sends one read if the service has not responded yet: without its time, no run may start. */
export async function hearClock(
  account: string,
  { facts, actions }: Pick<EngineDeps, 'facts' | 'actions'>,
  signal: AbortSignal,
): Promise<void> {
  if (facts.clockSkewMs(account) === undefined) await actions.hear(account, signal);
}

/**
 * Returns how much later than `at` something with this time can have happened, in milliseconds: another replica may have
 * read the time from its own clock.
 */
export function clockMargin(at: number, { shared, facts }: Pick<EngineDeps, 'shared' | 'facts'>): number {
  return shared === undefined || at >= facts.steadySince() ? 0 : CLOCK_MARGIN_MS;
}

/** Returns why another replica may own the account now; undefined if none does, or if there is no other replica. */
export async function lostLease(
  account: string,
  { ledger, shared }: Pick<EngineDeps, 'ledger' | 'shared'>,
): Promise<string | undefined> {
  if (shared === undefined) return undefined;
  return ledger.leaseLost(account).catch(() => undefined);
}
