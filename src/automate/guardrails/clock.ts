import { clockFault, MAX_CLOCK_SKEW_MS } from '#foundation/domain/clock-skew.ts';
import type { Hold } from '#foundation/domain/hold.ts';
import type { RunFacts } from './guard.ts';

/** Holds a run while the local clock is not known to agree with the service's: every time limit depends on it. */
export function clock({ clockSkewMs }: RunFacts): Hold | undefined {
  const measured =
    clockSkewMs === undefined
      ? 'no response from the service since the daemon started, so the local clock is not checked'
      : clockFault(clockSkewMs);
  if (measured === undefined) return undefined;
  const remedy = clockSkewMs === undefined ? 'check that the service responds' : 'correct the clock';
  return { measured, needed: `the difference must be at most ${MAX_CLOCK_SKEW_MS / 1_000} s`, remedy };
}
