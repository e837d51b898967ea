import type { Hold } from '#foundation/domain/hold.ts';
import type { PlanFacts } from './guard.ts';

const WINDOWS_MS: Readonly<Record<string, number>> = { hour: 3_600_000, day: 86_400_000 };

/** Applies the smallest limit; allowed entries above it are left for later runs. */
export function caps({ matched, maxPerRun, caps }: PlanFacts): { readonly allowed: number; readonly hold?: Hold } {
  let allowed = Math.min(matched, maxPerRun);
  let hold: Hold = {
    measured: `${matched} entries are allowed`,
    needed: `a run acts on at most ${maxPerRun}`,
    remedy: 'wait: later runs do the rest',
  };
  for (const { scope, window, used, limit, why } of caps) {
    const free = limit - used;
    if (free >= allowed) continue;
    allowed = free > 0 ? free : 0;
    const windowMs = WINDOWS_MS[window];
    hold = {
      measured: why ?? `${scope} ${window}: ${used} of ${limit} used`,
      needed: 'each action needs a free place in every cap',
      ...(windowMs !== undefined && { windowMs }),
      remedy: why === undefined ? 'wait: later runs do the rest' : 'adopt the store, or restore the right one',
    };
  }
  return allowed < matched ? { allowed, hold } : { allowed };
}
