import type { RunFacts } from './guard.ts';

/** Holds every run outside the policy's windows, manual runs as well. */
export function window({ outsideWindow }: RunFacts): string | undefined {
  return outsideWindow;
}
