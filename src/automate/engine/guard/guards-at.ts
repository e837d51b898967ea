/** Checks of the guards of one stage. */
import type { Hold } from '#foundation/domain/hold.ts';
import { denialBy, type Denial } from '#foundation/domain/plan.ts';
import type { Guard } from '../../guardrails/guard.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { TimeoutError } from '#foundation/platform/sleep.ts';

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
