import type { PlanFacts } from './guard.ts';

/** The smallest of all limits counts; what is over it waits. */
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
