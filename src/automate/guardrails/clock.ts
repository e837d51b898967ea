import { clockFault } from '#foundation/domain/clock-skew.ts';
import type { RunFacts } from './guard.ts';

/** Holds a run while the local clock is not known to agree with the service's: every time limit depends on it. */
export function clock({ clockSkewMs }: RunFacts): string | undefined {
  if (clockSkewMs === undefined) {
    return 'no response from the service since the daemon started, so the local clock is not checked';
  }
  return clockFault(clockSkewMs);
}
