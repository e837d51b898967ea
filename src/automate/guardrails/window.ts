import type { Hold } from '#foundation/domain/hold.ts';
import type { RunFacts } from './guard.ts';

/** Holds every run outside the policy's windows, manual runs as well. */
export function window({ opensAt }: RunFacts): Hold | undefined {
  if (opensAt === undefined) return undefined;
  return {
    measured: 'the policy is outside its windows',
    needed: opensAt === Infinity ? 'no window opens within two weeks' : 'requests are sent only inside',
    ...(opensAt !== Infinity && { until: opensAt }),
    remedy: opensAt === Infinity ? 'change `windows`' : 'wait, or change `windows`',
  };
}
