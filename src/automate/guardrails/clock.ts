import { clockFault } from '#foundation/domain/clock-skew.ts';
import type { RunFacts } from './guard.ts';

/** Holds a run while the local clock is not known to agree with the service's: every limit in time depends on it. */
export function clock({ clockSkewMs }: RunFacts): string | undefined {
  if (clockSkewMs === undefined) {
    return 'the service has not answered since the daemon started, so the local clock is not checked';
  }
  return clockFault(clockSkewMs);
}
