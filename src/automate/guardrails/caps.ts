import type { PlanFacts } from './guard.ts';

/** Applies the smallest limit; matched entries above it wait. */
export function caps({ matched, maxPerRun, caps }: PlanFacts): { readonly allowed: number; readonly reason?: string } {
  let allowed = Math.min(matched, maxPerRun);
  let reason = `a run acts on at most ${maxPerRun}`;
  for (const cap of caps) {
    const free = cap.limit - cap.used;
    if (free >= allowed) continue;
    allowed = free > 0 ? free : 0;
    reason = cap.why ?? `${cap.scope} ${cap.window}: ${cap.used} of ${cap.limit} used`;
  }
  return allowed < matched ? { allowed, reason } : { allowed };
}
